"""K positions in order out of a memory of S, repeats allowed: first this supporting fact, then that one.

    score(z) = Σ_k scores[k, z_k] + Σ_k transitions[z_k, z_{k+1}]

A chain whose states are the positions of the memory: O(K S²), or O(K S R) with factors, or O(K S) without
transitions.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from regard.structures.base import Backend, Structure
from regard.structures.potentials import (
    Lengths,
    apply_mask,
    as_floats,
    as_lengths,
    check_axes,
    expand_batch,
    joint_batch,
    shape_of,
)
from regard.structures.recompute import recomputed
from regard.structures.scaled import ScaledTransitions
from regard.structures.semirings import LogSemiring, Semiring

TILE = 2**20  # elements of (batch, S, part of S) that exist at one time


class PositionChain(Structure):
    """An ordered choice of K positions.

    scores[..., k, s]        scores position s as the k-th choice; (..., K, S)
    transitions[..., i, j]   scores a choice of i followed by j: (S, S) or (..., S, S);
                             or a pair of non-negative factors (..., S, R) and (..., R, S), whose product is exp
                             transitions; or absent: then the choices are independent
    lengths                  (...,) how many choices, from 0 to K
    mask                     True where a position may be chosen, broadcastable to scores; (..., 1, S) for padding

    A value and `marginals` have the shape of scores: p(z_k = s). Transitions shared by a batch stay (S, S): the
    (batch, S, S) of all pairs exists only in tiles, whatever is asked and differentiated. Factors are multiplied out
    for queries other than `log_partition` and `marginals`.
    """

    def __init__(
        self,
        scores: Tensor,
        transitions: Tensor | tuple[Tensor, Tensor] | None = None,
        *,
        lengths: Lengths = None,
        mask: Tensor | None = None,
        backend: Backend = "auto",
    ) -> None:
        left, right = transitions if isinstance(transitions, tuple) else (transitions, None)
        scores, left, right = as_floats(scores=scores, transitions=left, right_factor=right)
        check_axes("scores", scores, "KS", [None, None])
        size = scores.shape[-1]
        if size == 0:
            raise ValueError("scores must have at least one position to choose: its last axis is empty.")
        scores = apply_mask(scores, mask, 2)
        if left is not None and right is None:
            check_axes("transitions", left, "SS", [size, size])
        elif left is not None:
            check_axes("transitions[0]", left, "SR", [size, None])
            check_axes("transitions[1]", right, "RS", [left.shape[-1], size])
        given = [matrix for matrix in (left, right) if matrix is not None]
        self.lengths = as_lengths(lengths, scores.shape[-2], scores.device)
        shapes = {f"transitions[{i}]": matrix.shape[:-2] for i, matrix in enumerate(given)}
        batch = joint_batch(scores=scores.shape[:-2], lengths=shape_of(self.lengths), **shapes)
        potentials = [expand_batch(scores, batch, 2), *given]
        dims = [2] * min(len(potentials), 2)
        kind = "with transitions" if given else "independent"
        super().__init__(potentials, batch, dims, lengths=(self.lengths,), options=(kind,), backend=backend)

    @property
    def potentials(self) -> tuple[Tensor, ...]:
        scores, *transitions = self._given
        return (scores, ScaledTransitions(transitions).log()) if len(transitions) == 2 else self._given

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        scores, *transitions = parts
        if scores.shape[-2] == 0:
            return semiring.one(scores, 2)
        if not transitions:
            totals = semiring.sum(scores, -1)  # (..., K)
            if self.lengths is not None:
                chosen = torch.arange(scores.shape[-2], device=scores.device) < self.lengths.unsqueeze(-1)
                totals = torch.where(chosen, totals, semiring.ones_like(totals))
            return semiring.product(totals)
        prefix = scores[..., 0, :]
        for k in range(1, scores.shape[-2]):
            arrived = _tiled_step(semiring, prefix, transitions[0])
            extended = semiring.times(arrived, scores[..., k, :])
            prefix = (
                extended
                if self.lengths is None
                else torch.where(k < self.lengths.unsqueeze(-1), extended, prefix)
            )
        total = semiring.sum(prefix, -1)
        return (
            total
            if self.lengths is None
            else torch.where(self.lengths == 0, semiring.ones_like(total), total)
        )

    def _scaled(self, scores: Tensor) -> Tensor | None:
        """The log-partition by matrix products of scaled exponentials, or None where their range does not suffice."""
        semiring = LogSemiring()
        transitions = ScaledTransitions(self._given[1:])
        prefix = scores[..., 0, :]
        for k in range(1, scores.shape[-2]):
            arrived = transitions.step(prefix)
            if arrived is None:
                return None
            extended = arrived + scores[..., k, :]
            prefix = (
                extended
                if self.lengths is None
                else torch.where(k < self.lengths.unsqueeze(-1), extended, prefix)
            )
        total = semiring.sum(prefix, -1)
        return (
            total if self.lengths is None else torch.where(self.lengths == 0, torch.zeros_like(total), total)
        )

    def _fast_log_partition(self) -> Tensor | None:
        if len(self._given) == 1 or self._given[0].shape[-2] < 2:
            return None
        with torch.autocast(self._given[0].device.type, enabled=False):
            return self._scaled(self._given[0])

    def _fast_marginals(self) -> Tensor | None:
        with torch.no_grad():
            if self._fast_log_partition() is None:
                return None
        with torch.autocast(self._given[0].device.type, enabled=False):
            marginals: Tensor = torch.func.grad(self._scaled_sum)(self._given[0])
        return marginals

    def _scaled_sum(self, scores: Tensor) -> Tensor:
        total = self._scaled(scores)
        if total is None:
            raise RuntimeError("The scaled range was found to suffice and then not to.")
        return total.sum()


def _tiled_step(semiring: Semiring, prefix: Tensor, transitions: Tensor) -> Tensor:
    """Σ_i prefix[..., i] transitions[..., i, j], (..., S), for some j at a time."""
    tiles = transitions.split(max(1, TILE // max(1, prefix.numel())), -1)
    step = partial(_step, semiring)
    if len(tiles) == 1 or not semiring.deterministic:
        return torch.cat([step(prefix, tile) for tile in tiles], -1)
    return torch.cat([recomputed(step, prefix, tile) for tile in tiles], -1)


def _step(semiring: Semiring, prefix: Tensor, transitions: Tensor) -> Tensor:
    return semiring.sum(semiring.times(prefix.unsqueeze(-1), transitions), -2)
