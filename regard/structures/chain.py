"""Linear chains: one of C states at each of N positions, scored by neighboring pairs.

    score(z) = start[z_0] + Σ_n nodes[n, z_n] + Σ_n edges[n, z_n, z_{n+1}] + end[z_{N−1}]

The forward algorithm, O(N C²) (Lafferty et al. 2001, Conditional random fields).
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures import kernels
from regard.structures.base import Backend
from regard.structures.potentials import (
    Lengths,
    Mask,
    Scores,
    apply_mask,
    as_floats,
    as_lengths,
    as_tensor,
    check_axes,
    expand_batch,
    flatten_batch,
    joint_batch,
    restore_batch,
    shape_of,
)
from regard.structures.ragged import before_end
from regard.structures.semirings import NEGATIVE_INFINITY, MaxSemiring, Semiring
from regard.structures.states import StateSequence, forward_algorithm


class LinearChain(StateSequence):
    """A sequence of N states out of C.

    edges[..., n, i, j]   scores state i at n followed by state j at n+1; (..., N−1, C, C), or (C, C) shared by all n
    nodes[..., n, c]      scores state c at n; absent: 0
    start[..., c]         scores beginning in state c
    end[..., c]           scores ending in state c, at the last position of each length
    lengths               (...,) from 0 to N
    mask                  True where an edge is allowed, broadcastable to edges; to exclude a state set its
                          node to −inf

    A value z is (N, C), one-hot at each position, zero beyond the length. Unlike edges, it distinguishes the
    states if N is 1. `marginals` is (..., N−1, C, C), p(z_n = i, z_{n+1} = j); `node_marginals` is (..., N,
    C).
    """

    value_index = 1

    def __init__(
        self,
        edges: Scores,
        nodes: Scores | None = None,
        start: Scores | None = None,
        end: Scores | None = None,
        *,
        lengths: Lengths = None,
        mask: Mask | None = None,
        backend: Backend = "auto",
    ) -> None:
        edges, nodes, start, end = _complete(edges, nodes, start, end)
        edges = apply_mask(edges, mask, 3)
        longest = edges.shape[-3] + 1 if nodes is None else nodes.shape[-2]
        self.lengths = as_lengths(lengths, longest, edges.device)
        if start is not None or end is not None:
            nodes = _with_ends(nodes, start, end, longest, self.lengths)
        batch = joint_batch(
            edges=edges.shape[:-3],
            nodes=() if nodes is None else nodes.shape[:-2],
            lengths=shape_of(self.lengths),
        )
        super().__init__(
            [expand_batch(edges, batch, 3), None if nodes is None else expand_batch(nodes, batch, 2)],
            batch,
            (3, 2),
            lengths=(self.lengths,),
            backend=backend,
            event_shape=(longest, edges.shape[-1]),
        )

    @property
    def potentials(self) -> tuple[Tensor, ...]:
        edges, nodes = self._given
        if nodes is None:
            nodes = edges.new_zeros(()).expand(*self.batch_shape, *self.event_shape)
        return edges, nodes

    @property
    def node_marginals(self) -> Tensor:
        """p(z_n = c), (..., N, C); zero beyond the length."""
        folded = self._folded("chain")
        if folded is None:
            return self._marginals_of(1)
        init, pairs = kernels.chain_marginals(*folded)
        return restore_batch(torch.cat([init.unsqueeze(-2), pairs.sum(-2)], -2), self.batch_shape)

    @property
    def mean(self) -> Tensor:
        return self.node_marginals

    def states(self, value: Tensor) -> Tensor:
        """The states (..., N) of a value (..., N, C), −1 beyond the length: the tags of a tagger."""
        present = self._as_parts("value", value)
        return torch.where(present.any(-1), present.to(torch.uint8).argmax(-1), -1)

    def value_of(self, states: Tensor) -> Tensor:
        """The value (..., N, C) of states (..., N), zero beyond the length: the argument of `log_prob`."""
        states = as_tensor("states", states, device=self._given[0].device)
        value = states.unsqueeze(-1) == torch.arange(self.event_shape[-1], device=states.device)
        value = value & self._inside_length().unsqueeze(-1)
        return value.to(self.potentials[0].dtype)

    def score(self, value: Tensor) -> Tensor:
        edges, nodes = self.potentials
        present = self._as_parts("value", value)
        inside = self._inside_length()
        states = present.to(torch.uint8).argmax(-1)  # (..., N)
        steps = states[..., :-1] * edges.shape[-1] + states[..., 1:]  # (..., N−1) of the C² pairs
        at_nodes = _take_along(nodes, states)
        at_edges = _take_along(edges.flatten(-2), steps)
        total = torch.where(inside, at_nodes, 0.0).sum(-1) + torch.where(inside[..., 1:], at_edges, 0.0).sum(
            -1
        )
        valid = (present.sum(-1) == inside).all(-1) & (total > NEGATIVE_INFINITY)
        return torch.where(valid, total, NEGATIVE_INFINITY)

    def max_marginals(self) -> Tensor:
        """The best score of any sequence with an edge, (..., N−1, C, C): Viterbi from both ends, O(N C²)."""
        edges, nodes = self.potentials
        semiring = MaxSemiring()
        if edges.shape[-3] == 0:
            return edges
        arrivals = edges + nodes[..., 1:, :].unsqueeze(-2)
        prefixes, suffixes = [nodes[..., 0, :]], [torch.zeros_like(nodes[..., 0, :])]
        for n in range(arrivals.shape[-3] - 1):
            prefixes.append(semiring.sum(prefixes[-1].unsqueeze(-1) + arrivals[..., n, :, :], -2))
        for n in range(arrivals.shape[-3] - 1, 0, -1):
            longer = semiring.sum(arrivals[..., n, :, :] + suffixes[-1].unsqueeze(-2), -1)
            suffixes.append(torch.where(self._inside_length()[..., n + 1, None], longer, 0.0))
        best = (
            torch.stack(prefixes, -2).unsqueeze(-1) + arrivals + torch.stack(suffixes[::-1], -2).unsqueeze(-2)
        )
        return torch.where(self._inside_length()[..., 1:, None, None], best, NEGATIVE_INFINITY)

    def _inside_length(self) -> Tensor:
        """(..., N): whether a position is before the end."""
        return before_end(self.lengths, self.event_shape[0], self._given[0].device)

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        edges, nodes = parts
        return forward_algorithm(semiring, edges, nodes, self.lengths)

    def _folded(self, kernel: str) -> tuple[Tensor | None, Tensor, Tensor | None] | None:
        """For the kernels: init (B, C), edges and nodes (B, N−1, C, C), lengths (B,); None without kernel."""
        edges, nodes = self._given
        if self.backend != "auto" or not kernels.available(kernel, edges):
            return None
        if nodes is None:
            return None, flatten_batch(edges, self.batch_shape, 3), self._flat_lengths()
        nodes = expand_batch(nodes, self.batch_shape, 2)
        scores = edges + nodes[..., 1:, :].unsqueeze(-2)
        init = flatten_batch(nodes[..., 0, :], self.batch_shape, 1)
        return init, flatten_batch(scores, self.batch_shape, 3), self._flat_lengths()

    def _fast_marginals(self) -> Tensor | None:
        folded = self._folded("chain")
        return (
            None if folded is None else restore_batch(kernels.chain_marginals(*folded)[1], self.batch_shape)
        )


def _complete(
    edges: Scores, nodes: Scores, start: Scores, end: Scores
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Edges for every step, and the other scores, in one precision."""
    edges, nodes, start, end = as_floats(edges=edges, nodes=nodes, start=start, end=end)
    check_axes("edges", edges, "CC", [edges.shape[-1] if edges.dim() else None] * 2)
    if nodes is None and edges.dim() < 3:
        raise ValueError(
            "edges of shape (C, C) are shared by all steps and do not determine their number: give nodes of shape "
            "(..., N, C), or edges.expand(N - 1, C, C)."
        )
    states = edges.shape[-1]
    if start is not None:
        check_axes("start", start, "C", [states])
    if end is not None:
        check_axes("end", end, "C", [states])
    if nodes is None:
        return edges, None, start, end
    check_axes("nodes", nodes, "NC", [None, states])
    steps = max(nodes.shape[-2] - 1, 0)
    if edges.dim() == 2 or edges.shape[-3] == 1:
        edges = edges.expand(*edges.shape[:-3], steps, states, states)
    check_axes("edges", edges, "NCC", [steps, states, states])
    return edges, nodes, start, end


def _with_ends(
    nodes: Tensor | None, start: Tensor | None, end: Tensor | None, longest: int, lengths: Tensor | None
) -> Tensor:
    """Nodes (..., N, C) with the start and end scores added at the first and last positions."""
    ends = [] if start is None else [_at(0, longest, start)]
    if end is not None:
        ends.append(_at(longest - 1 if lengths is None else lengths - 1, longest, end))
    total = ends[0] if nodes is None else nodes + ends[0]
    return total if len(ends) == 1 else total + ends[1]


def _at(position: Tensor | int, longest: int, scores: Tensor) -> Tensor:
    """Scores (..., C) at one position of (..., N, C), 0 at the others."""
    positions = torch.arange(longest, device=scores.device)
    here = positions == (position.unsqueeze(-1) if isinstance(position, Tensor) else position)
    return torch.where(here.unsqueeze(-1), scores.unsqueeze(-2), 0.0)


def _take_along(scores: Tensor, index: Tensor) -> Tensor:
    """scores[..., n, index[..., n]], batch dimensions broadcast."""
    batch = torch.broadcast_shapes(scores.shape[:-1], index.shape)
    return scores.expand(*batch, -1).gather(-1, index.expand(batch).unsqueeze(-1)).squeeze(-1)
