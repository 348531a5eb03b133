"""Base class of sequences of states, independent of their potentials."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from regard.structures import kernels
from regard.structures.base import Shape, Structure
from regard.structures.potentials import restore_batch
from regard.structures.ragged import advance, or_empty
from regard.structures.semirings import Semiring


class StateSequence(Structure):
    """A sequence of N states with scores for neighboring pairs: its queries through the chain kernels.

    `_folded` returns the scores in the form of the kernels, `value_of` converts states to a value.
    """

    @abstractmethod
    def value_of(self, states: Tensor) -> Tensor:
        """The value of states (..., N), which are −1 beyond the length."""

    @abstractmethod
    def _folded(self, kernel: str) -> tuple[Tensor | None, Tensor, Tensor | None] | None:
        """init (B, C), edges (B, N−1, C, C) including other scores, lengths (B,); None without a kernel."""

    def entropy(self) -> Tensor:
        folded = self._folded("chain")
        if folded is None:
            return super().entropy()
        return chain_entropy(*kernels.chain_marginals(*folded)).view(self.batch_shape)

    def sample(self, sample_shape: Shape = (), *, generator: torch.Generator | None = None) -> Tensor:
        folded = self._folded("chain")
        if folded is None:
            return super().sample(sample_shape, generator=generator)
        with torch.no_grad():
            states = sample_states(*kernels.chain_marginals(*folded), sample_shape, generator)
        return self.value_of(states.view(*sample_shape, *self.batch_shape, self.event_shape[0]))

    def _fast_log_partition(self) -> Tensor | None:
        folded = self._folded("chain")
        return (
            None if folded is None else restore_batch(kernels.chain_log_partition(*folded), self.batch_shape)
        )

    def _fast_mode(self) -> Tensor | None:
        folded = self._folded("chain_mode")
        if folded is None:
            return None
        return self.value_of(restore_batch(kernels.chain_mode(*folded)[1], self.batch_shape))

    @property
    def mode_score(self) -> Tensor:
        folded = self._folded("chain_mode") if self.backend == "auto" else None
        if folded is None:
            return super().mode_score
        best, states = kernels.chain_mode(*folded)
        score = self.score(self.value_of(restore_batch(states, self.batch_shape)))
        # the best of NaN has the states −1; as a value, these may be a structure with a score
        return torch.where(restore_batch(best, self.batch_shape).isnan(), torch.nan, score)


def forward_algorithm(semiring: Semiring, edges: Tensor, nodes: Tensor, lengths: Tensor | None) -> Tensor:
    """The sum over state sequences of the product of their edges (..., N−1, C, C) and nodes (..., N, C)."""
    if nodes.shape[-2] == 0:
        return semiring.one(nodes, 2)
    prefix = nodes[..., 0, :]  # (..., C): the sum over all prefixes that end in each state
    for n in range(1, nodes.shape[-2]):
        pairs = semiring.times(prefix.unsqueeze(-1), edges[..., n - 1, :, :])  # (..., C from, C to)
        extended = semiring.times(semiring.sum(pairs, -2), nodes[..., n, :])
        prefix = advance(lengths, n, extended, prefix)
    return or_empty(semiring, lengths, semiring.sum(prefix, -1))


def chain_entropy(first: Tensor, pairs: Tensor) -> Tensor:
    """H(z_0) + Σ_n H(z_{n+1} | z_n), (B,), from marginals (B, C) and (B, N−1, C, C), without cancellation."""
    conditional = _x_log_x(pairs).sum((-1, -2)) - _x_log_x(pairs.sum(-1)).sum(-1)  # (B, N−1)
    return -(_x_log_x(first).sum(-1) + conditional.sum(-1))


def sample_states(
    first: Tensor, pairs: Tensor, sample_shape: Shape, generator: torch.Generator | None
) -> Tensor:
    """States (*sample_shape, B, N) drawn from a chain's marginals (B, C) and (B, N−1, C, C), from left to right.

    A state is −1 beyond the length and on an empty support, where all marginals are zero.
    """
    weights = first.expand(*sample_shape, *first.shape)
    drawn = [_draw(weights, generator)]
    for step in pairs.unbind(1):  # (B, C from, C to)
        rows = step.expand(*sample_shape, *step.shape)
        before = drawn[-1].clamp(min=0)[..., None, None].expand(*rows.shape[:-2], 1, rows.shape[-1])
        drawn.append(_draw(rows.gather(-2, before).squeeze(-2), generator))
    return torch.stack(drawn, -1)


def _draw(weights: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw an index in proportion to the unnormalized weights (..., C); −1 if all are zero."""
    chosen = (weights / torch.empty_like(weights).exponential_(generator=generator)).argmax(-1)
    return torch.where(weights.any(-1), chosen, -1)


def _x_log_x(x: Tensor) -> Tensor:
    some = x > 0
    return torch.where(some, x * torch.where(some, x, 1.0).log(), 0.0)
