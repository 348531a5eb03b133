"""Spanning trees: every word has a head, and arcs may cross.

    score(tree) = Σ_m arcs[head(m), m]

There is no dynamic program. The matrix-tree theorem gives the log-partition as a determinant and the
marginals from an inverse, O(N³) (Koo et al. 2007; Smith and Smith 2007; McDonald and Satta 2007). Edmonds'
algorithm gives the best tree, Lawler's partition the k best, Wilson's random walks exact samples, and
Kirchhoff's theorem in integers the count.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from regard.structures import kernels
from regard.structures.arcs import DependencyTree
from regard.structures.base import Structure, gumbel_noise
from regard.structures.kernels.batched_inverse import full_lengths, invert, laplacian, weigh
from regard.structures.kernels.kirchhoff import count_trees
from regard.structures.kernels.spanning import doubts
from regard.structures.kernels.trees import best_tree, best_tree_with_each_arc, best_trees, sampled_trees
from regard.structures.potentials import flatten_batch, restore_batch
from regard.structures.program import Shape
from regard.structures.semirings import NEGATIVE_INFINITY, logsumexp, softmax_weights


class SpanningTree(DependencyTree):
    """A dependency tree, projective or not, over N words and the root symbol at position 0.

    arcs[..., h, m]      scores h as the head of word m; (..., N+1, N+1), column 0 and the diagonal ignored
    arcs[..., h, m, c]   the same with a label c on the arc; (..., N+1, N+1, C)
    single_root          whether exactly one word hangs from the root symbol; otherwise at least one
    labeled             whether the last axis is labels
    lengths              (...,) the number of words, from 0 to N
    mask                 True where an arc is allowed, broadcastable to arcs
    backend              without effect: both values use the matrix-tree theorem

    A value and `marginals` have the shape of arcs: p(h is the head of m).
    """

    @property
    def log_partition(self) -> Tensor:
        # The kernels ignore impossible arcs, so the scores are passed as they were given.
        return self._log_partition_of(self.potentials[0] if self.labeled else self._given[0])

    @property
    def marginals(self) -> Tensor:
        if not self.labeled:
            return restore_batch(kernels.spanning_marginals(*self._sparse(self._given[0])), self.batch_shape)
        (scores,) = self.potentials
        arcs = self._unlabeled(scores)
        marginals = restore_batch(kernels.spanning_marginals(*self._sparse(arcs)), self.batch_shape)
        return marginals.unsqueeze(-1) * softmax_weights(scores, arcs, -1)[0]

    @property
    def mode(self) -> Tensor:
        return self._best(1)[0][0]

    @property
    def mode_score(self) -> Tensor:
        return self._score_of(self.mode, self._best(1)[1][0])

    def topk(self, k: int) -> tuple[Tensor, Tensor]:
        if k < 1:
            raise ValueError(f"topk needs k of at least 1, not {k}.")
        values, scores = self._best(k)
        return values, self._score_of(values, scores)

    def sample(self, sample_shape: Shape = (), *, generator: torch.Generator | None = None) -> Tensor:
        scores = self.potentials[0].detach()
        arcs, lengths, single_root = self._flat(self._unlabeled(scores))
        W, _ = weigh(arcs, lengths)
        doubtful = doubts(invert(W, lengths, single_root)[1], arcs.dtype)
        marginals = kernels.spanning_marginals(arcs, lengths, single_root)
        device = arcs.device if generator is None else generator.device
        seeds = torch.randint(2**62, (math.prod(sample_shape), len(arcs)), generator=generator, device=device)
        heads = sampled_trees(arcs, W, marginals, lengths, doubtful, single_root, seeds.t().to(arcs.device))
        heads = heads.transpose(0, 1).reshape(*sample_shape, *self.batch_shape, arcs.shape[-1])
        if not self.labeled:
            return self._tree(heads)
        noise = gumbel_noise(scores.expand(*sample_shape, *scores.shape), generator)
        return self._tree(heads, (scores + noise).argmax(-1))

    def max_marginals(self) -> Tensor:
        """The best score of any tree that contains an arc; −inf if none does. One search for each arc."""
        (scores,) = self.potentials
        arcs = scores.amax(-1) if self.labeled else scores
        flat, lengths, single_root = self._flat(arcs)
        heads = best_tree_with_each_arc(flat.detach(), lengths, single_root)  # (B, N+1, N+1, N+1)
        places = heads * heads.shape[-1] + torch.arange(heads.shape[-1], device=heads.device)
        chosen = flat.flatten(1).gather(1, places.clamp(min=0).flatten(1)).view(heads.shape)
        total = torch.where(heads >= 0, chosen, 0.0).sum(-1)
        best = torch.where((heads >= 0).any(-1), total, NEGATIVE_INFINITY).view(arcs.shape)
        if not self.labeled:
            return best
        possible = (best > NEGATIVE_INFINITY).unsqueeze(-1) & (scores > NEGATIVE_INFINITY)
        other = torch.where(possible, best.unsqueeze(-1) - arcs.unsqueeze(-1), 0.0)
        return torch.where(possible, other + scores, NEGATIVE_INFINITY)

    def expectation(self, weights: Tensor) -> Tensor:
        marginals = self.marginals
        return self._over_parts(torch.where(marginals > 0, marginals * weights.to(marginals.dtype), 0.0))

    def expected_product(self, factors: Tensor) -> Tensor:
        arcs = self._unlabeled(self.potentials[0])
        flat, lengths, single_root = self._flat(arcs)
        W, shift = weigh(flat, lengths)
        factors = factors.to(arcs.dtype).expand(self.potentials[0].shape)
        if self.labeled:
            factors = (factors * softmax_weights(self.potentials[0], arcs, -1)[0]).sum(-1)
        log_z = self.log_partition.view(-1)
        some = log_z > NEGATIVE_INFINITY
        L = laplacian(W * factors.reshape(flat.shape)[..., 1:].double(), lengths, single_root)
        one = torch.eye(L.shape[-1], dtype=L.dtype, device=L.device)
        sign, size = torch.linalg.slogdet(torch.where(some[:, None, None], L, one))
        ratio = sign * (size + shift - torch.where(some, log_z, 0.0).double()).exp()
        return torch.where(some, ratio, 0.0).to(arcs.dtype).view(self.batch_shape)

    def count(self) -> Any:
        (scores,) = self.potentials
        possible = scores.detach() > NEGATIVE_INFINITY
        arcs = possible.sum(-1) if self.labeled else possible.long()
        flat, lengths, single_root = self._flat(arcs)
        counts: Any = [
            count_trees(matrix.tolist(), int(n), single_root) for matrix, n in zip(flat, lengths, strict=True)
        ]
        for size in reversed(self.batch_shape[1:]):
            counts = [counts[start : start + size] for start in range(0, len(counts), size)]
        return counts if self.batch_shape else counts[0]

    def _log_partition_of(self, scores: Tensor) -> Tensor:
        """log Z of other scores in the shape of these, possibly with more batch dimensions."""
        arcs = self._unlabeled(scores)
        batch = arcs.shape[:-2]
        return restore_batch(kernels.spanning_log_partition(*self._sparse(arcs)), batch)

    def _divergence(self, other: Structure, *, relative: bool) -> Tensor:
        self._check_comparable(other)
        mine, theirs = torch.broadcast_tensors(self.potentials[0], other.potentials[0])
        marginals = self.marginals.expand(mine.shape)
        reached = marginals > 0
        theirs = torch.where(reached, theirs, 0.0)
        score = torch.where(reached, mine, 0.0) - theirs if relative else -theirs
        expected = self._over_parts(torch.where(reached, marginals * score, 0.0))
        # The divergence is infinite if the other excludes an arc that this one allows.
        expected = torch.where(
            (reached & (theirs == NEGATIVE_INFINITY)).flatten(-self.event_dims[0]).any(-1),
            torch.inf,
            expected,
        )
        own = self.log_partition
        normalizer = other.log_partition - own if relative else other.log_partition
        return torch.where(own > NEGATIVE_INFINITY, expected + normalizer, 0.0)

    def _partial_score(self, required: Tensor, forbidden: Tensor) -> Tensor:
        required, forbidden, scores = torch.broadcast_tensors(required, forbidden, self.potentials[0])
        # A required arc forbids all other heads and labels of its word.
        axes = (-3, -1) if self.labeled else (-2,)
        wanted = required.sum(axes, keepdim=True)
        allowed = ~forbidden & torch.where(wanted == 0, True, required & (wanted == 1))
        words = torch.arange(scores.shape[axes[0]], device=scores.device)
        lengths = torch.tensor(len(words) - 1) if self.lengths is None else self.lengths
        within = (words > 0) & (words <= lengths.to(words.device).unsqueeze(-1))  # (..., N+1)
        demands = required.sum(axes)  # (..., N+1)
        met = ((demands <= 1) & ((demands == 0) | within)).all(-1)
        log_weight = self._log_partition_of(torch.where(allowed, scores, NEGATIVE_INFINITY))
        return torch.where(met, log_weight, NEGATIVE_INFINITY)

    def _unlabeled(self, scores: Tensor) -> Tensor:
        return logsumexp(scores, -1) if self.labeled else scores

    def _sparse(self, arcs: Tensor) -> tuple[Tensor, Tensor | None, bool]:
        """For the kernels: arcs (B, N+1, N+1), lengths (B,) or None if all are full, and single_root."""
        batch = arcs.shape[:-2]
        lengths = None if self.lengths is None else self.lengths.expand(batch).reshape(-1).contiguous()
        return flatten_batch(arcs, batch, 2), lengths, self.single_root

    def _flat(self, arcs: Tensor) -> tuple[Tensor, Tensor, bool]:
        """As `_sparse`, with lengths that are never None."""
        flat, lengths, single_root = self._sparse(arcs)
        return flat, full_lengths(flat, lengths), single_root

    def _best(self, k: int) -> tuple[Tensor, Tensor]:
        """The k best values and their scores, without gradient."""
        scores = self.potentials[0].detach()
        labeled = scores if self.labeled else scores.unsqueeze(-1)
        if k == 1:
            flat, lengths, single_root = self._flat(labeled.amax(-1))
            best, heads = best_tree(flat, lengths, single_root)
            heads = heads.view(1, *self.batch_shape, -1)
            labels = labeled.argmax(-1).unsqueeze(0)
            return self._tree(heads, labels if self.labeled else None), best.view(1, *self.batch_shape)
        lengths = self._flat(labeled[..., 0])[1]
        best, heads, names = best_trees(
            labeled.reshape(-1, *labeled.shape[-3:]), lengths, self.single_root, k
        )
        best = best.transpose(0, 1)
        heads, names = (x.transpose(0, 1).reshape(k, *self.batch_shape, -1) for x in (heads, names))
        by_arc = names.unsqueeze(-2).expand(*names.shape[:-1], names.shape[-1], names.shape[-1])
        return self._tree(heads, by_arc if self.labeled else None), best.reshape(k, *self.batch_shape)

    def _tree(self, heads: Tensor, labels: Tensor | None = None) -> Tensor:
        """The value of heads (..., N+1), −1 for none, with a label for each arc (..., N+1, N+1)."""
        (scores,) = self.potentials
        tree = heads.unsqueeze(-2) == torch.arange(heads.shape[-1], device=heads.device).unsqueeze(-1)
        if labels is not None:
            tree = tree.unsqueeze(-1) & (
                labels.unsqueeze(-1) == torch.arange(scores.shape[-1], device=heads.device)
            )
        return tree.to(scores.dtype)

    def _score_of(self, values: Tensor, scores: Tensor) -> Tensor:
        """The scores of values as differentiable functions of the potentials; −inf if there is no tree."""
        sums = self._over_parts(torch.where(values > 0, self.potentials[0], 0.0))
        return torch.where(scores > NEGATIVE_INFINITY, sums, NEGATIVE_INFINITY)

    def _over_parts(self, values: Tensor) -> Tensor:
        return values.flatten(-self.event_dims[0]).sum(-1)
