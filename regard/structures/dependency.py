"""Projective dependency trees: every word has a head, and arcs drawn above the sentence do not cross.

    score(tree) = Σ_m arcs[head(m), m]

Eisner's algorithm (Eisner 1996, Three new probabilistic models for dependency parsing): O(N³) time, O(N²) cells.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures import kernels
from regard.structures.arcs import DependencyTree
from regard.structures.potentials import flatten_batch, restore_batch
from regard.structures.ragged import before_end, pick
from regard.structures.semirings import NEGATIVE_INFINITY, Semiring, logsumexp, softmax_weights
from regard.structures.spans import SpanChart


def eisner(semiring: Semiring, arcs: Tensor, single_root: bool) -> Tensor:
    """(..., N+1): for each n, the sum over projective trees of the first n words; arcs are (..., N+1, N+1).

    A span from i to j has four kinds of half-trees, headed at one of its ends:

    rightward   headed at i, with last modifier j; j has no modifiers on its right yet
    leftward    the mirror image, headed at j
    right       headed at i and complete: no word in it takes further modifiers
    left        the mirror image, headed at j
    right       headed at i and complete: nothing in it will take any more
    left        its mirror image, headed at j
    """
    single = semiring.one(arcs, 2).unsqueeze(-1).expand(arcs.shape[:-1])  # (..., N+1): spans of one position
    right, left = SpanChart(single), SpanChart(single)
    rightward, leftward = SpanChart(semiring.zeros_like(single)), SpanChart(semiring.zeros_like(single))
    # The half-trees that may stand on the left when a new arc joins two halves. With a single root the root
    # symbol joins only without modifiers, so that it has a single arc.
    joinable = SpanChart(single) if single_root else right
    for width in range(1, arcs.shape[-1]):
        joined = semiring.sum(semiring.times(joinable.left_parts(), left.right_parts()), -1)
        rightward.grow(semiring.times(joined, arcs.diagonal(width, -2, -1)))
        leftward.grow(semiring.times(joined, arcs.diagonal(-width, -2, -1)))
        closing = semiring.times(_after(rightward), right.right_parts())
        opening = semiring.times(left.left_parts(), _before(leftward))
        right.grow(semiring.sum(closing, -1))
        left.grow(semiring.sum(opening, -1))
        if single_root:
            grown = right.by_start[..., -1]
            joinable.grow(torch.cat([semiring.zeros_like(grown[..., :1]), grown[..., 1:]], -1))
    return right.from_first()


def _after(chart: SpanChart) -> Tensor:
    """The newest cells and all cells with the same start, of width 1 and more."""
    return chart.by_start[..., 1:]


def _before(chart: SpanChart) -> Tensor:
    """The newest cells and all cells with the same end, of width 1 and more, from wide to narrow."""
    return chart.by_end[..., 1:].flip(-1)


class ProjectiveTree(DependencyTree):
    """A projective dependency tree over N words and the root symbol at position 0.

    arcs[..., h, m]      scores h as the head of word m; (..., N+1, N+1), column 0 and the diagonal ignored
    arcs[..., h, m, c]   the same with a label c on the arc; (..., N+1, N+1, C)
    single_root          whether exactly one word hangs from the root symbol; otherwise at least one
    labeled             whether the last axis is labels
    lengths              (...,) the number of words, from 0 to N
    mask                 True where an arc is allowed, broadcastable to arcs

    A value and `marginals` have the shape of arcs: p(h is the head of m).
    """

    def score(self, value: Tensor) -> Tensor:
        (arcs,) = self.potentials
        present = self._as_parts("value", value)
        total = torch.where(present, arcs, 0.0).flatten(-self.event_dims[0]).sum(-1)
        tree = present.any(-1) if self.labeled else present
        labeled_once = (present.sum(-1) == tree).flatten(-2).all(-1) if self.labeled else True
        words = before_end(self.lengths, tree.shape[-1] - 1, arcs.device)
        valid = is_projective(tree, words, self.single_root) & labeled_once & (total > NEGATIVE_INFINITY)
        return torch.where(valid, total, NEGATIVE_INFINITY)

    def entropy(self) -> Tensor:
        (scores,) = self.potentials
        if self.backend != "auto" or not kernels.available("projective", scores):
            return super().entropy()
        # Each word has one head, so the scores of a word can be shifted by a constant, such that log Z −
        # E[score] loses few digits.
        highest = scores.detach().amax((-3, -1) if self.labeled else -2, keepdim=True)
        centered = self._with_potentials([scores - torch.where(highest == NEGATIVE_INFINITY, 0.0, highest)])
        marginals = centered.marginals
        parts = torch.where(marginals > 0, marginals * centered.potentials[0], 0.0)
        expected = parts.flatten(-self.event_dims[0]).sum(-1)
        log_partition = centered.log_partition
        return torch.where(log_partition > NEGATIVE_INFINITY, log_partition - expected, 0.0)

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        (arcs,) = parts
        if self.labeled:
            arcs = semiring.sum(arcs, -1)
        totals = eisner(semiring, arcs, self.single_root)
        return totals[..., -1] if self.lengths is None else pick(totals, self.lengths)

    def _flat(self, kernel: str, arcs: Tensor) -> tuple[Tensor, Tensor | None, bool] | None:
        """For the kernels: unlabeled arcs (B, N+1, N+1), lengths (B,), single_root; None without a kernel."""
        if not kernels.available(kernel, arcs):
            return None
        return flatten_batch(arcs, self.batch_shape, 2), self._flat_lengths(), self.single_root

    def _fast_log_partition(self) -> Tensor | None:
        # The kernels ignore impossible arcs, so the scores are passed as they were given.
        arcs = logsumexp(self.potentials[0], -1) if self.labeled else self._given[0]
        flat = self._flat("projective", arcs)
        return (
            None if flat is None else restore_batch(kernels.projective_log_partition(*flat), self.batch_shape)
        )

    def _fast_marginals(self) -> Tensor | None:
        if not self.labeled:
            flat = self._flat("projective", self._given[0])
            return (
                None if flat is None else restore_batch(kernels.projective_marginals(*flat), self.batch_shape)
            )
        (scores,) = self.potentials
        arcs = logsumexp(scores, -1)
        flat = self._flat("projective", arcs)
        if flat is None:
            return None
        marginals = restore_batch(kernels.projective_marginals(*flat), self.batch_shape)
        return marginals.unsqueeze(-1) * softmax_weights(scores, arcs, -1)[0]

    def _fast_mode(self) -> Tensor | None:
        (scores,) = self.potentials
        arcs = scores.amax(-1) if self.labeled else scores
        flat = self._flat("projective_mode", arcs.detach())
        if flat is None:
            return None
        heads = restore_batch(kernels.projective_mode(*flat)[1], self.batch_shape).unsqueeze(
            -2
        )  # (..., 1, N+1)
        tree = heads == torch.arange(arcs.shape[-1], device=arcs.device).unsqueeze(-1)  # (..., N+1, N+1)
        if self.labeled:
            labels = torch.arange(scores.shape[-1], device=arcs.device)
            tree = tree.unsqueeze(-1) & (scores.argmax(-1, keepdim=True) == labels)
        return tree.to(scores.dtype)


def is_projective(arcs: Tensor, words: Tensor, single_root: bool) -> Tensor:
    """Whether Boolean arcs (..., N+1, N+1) are a projective tree over the unpadded words (..., N)."""
    one_head = (arcs[..., 1:].sum(-2) == words).all(-1) & ~arcs[..., 0].any(-1)
    rules = arcs | torch.eye(
        arcs.shape[-1], dtype=torch.bool, device=arcs.device
    )  # h dominates m, itself included
    for _ in range(arcs.shape[-1].bit_length()):
        rules = rules.float() @ rules.float() > 0
    connected = (rules[..., 0, 1:] | ~words).all(-1)
    # The head of an arc must dominate all positions between its ends: count them with running sums.
    positions = torch.arange(arcs.shape[-1], device=arcs.device)
    ends = (
        torch.stack(torch.broadcast_tensors(positions.unsqueeze(-1), positions)).sort(0).values
    )  # (2, N+1, N+1)
    low, high = (end.expand(arcs.shape) for end in ends)
    running = rules.long().cumsum(-1)
    ruled = running.gather(-1, (high - 1).clamp(min=0)) - running.gather(-1, low)
    nested = (~arcs | (ruled == high - low - 1)).flatten(-2).all(-1)
    tree: Tensor = one_head & connected & nested
    return tree & (arcs[..., 0, :].sum(-1) <= 1) if single_root else tree
