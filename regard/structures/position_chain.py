"""An ordered choice of K out of S memory positions, with repeats: for example supporting facts in order.

    score(z) = Σ_k scores[k, z_k] + Σ_k transitions[z_k, z_{k+1}]

A chain whose states are the positions of the memory: O(K S²), or O(K S R) with factors, or O(K S) without
transitions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from regard.structures.base import Backend, Structure
from regard.structures.kernels import eager
from regard.structures.potentials import (
    Lengths,
    Mask,
    Scores,
    apply_mask,
    as_floats,
    as_lengths,
    check_axes,
    expand_batch,
    joint_batch,
    shape_of,
)
from regard.structures.ragged import advance, before_end, or_empty
from regard.structures.recompute import recomputed
from regard.structures.recording import recorded
from regard.structures.scaled import OutOfRange, ScaledTransitions
from regard.structures.semirings import NEGATIVE_INFINITY, LogSemiring, MaxSemiring, Semiring

TILE = 2**20  # elements of (batch, S, part of S) in memory at a time


class PositionChain(Structure):
    """An ordered choice of K positions.

    scores[..., k, s]        scores position s as the k-th choice; (..., K, S)
    transitions[..., i, j]   scores a choice of i followed by j: (S, S) or (..., S, S);
                             or a pair of non-negative factors (..., S, R) and (..., R, S), whose product is
                             exp transitions; absent: the choices are independent
    lengths                  (...,) the number of choices, from 0 to K
    mask                     True where a position may be chosen, broadcastable to scores; (..., 1, S) for padding

    A value and `marginals` have the shape of scores: p(z_k = s). Transitions shared by a batch stay (S, S):
    the (batch, S, S) scores of all pairs are computed in tiles, for every query and derivative. Factors are
    multiplied out for queries other than `log_partition` and `marginals`.
    """

    def __init__(
        self,
        scores: Scores,
        transitions: Scores | tuple[Scores, Scores] | None = None,
        *,
        lengths: Lengths = None,
        mask: Mask | None = None,
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
        if transitions:
            return self._forward(
                semiring, scores, lambda prefix: _tiled_step(semiring, prefix, transitions[0])
            )
        totals = semiring.sum(scores, -1)  # (..., K)
        chosen = before_end(self.lengths, scores.shape[-2], scores.device)
        return semiring.product(torch.where(chosen, totals, semiring.ones_like(totals)))

    def _forward(self, semiring: Semiring, scores: Tensor, step: Callable[[Tensor], Tensor]) -> Tensor:
        """The forward algorithm; step(prefix) is Σ_i prefix[..., i] transitions[..., i, j]."""
        prefix = scores[..., 0, :]
        for k in range(1, scores.shape[-2]):
            extended = semiring.times(step(prefix), scores[..., k, :])
            prefix = advance(self.lengths, k, extended, prefix)
        return or_empty(semiring, self.lengths, semiring.sum(prefix, -1))

    def max_marginals(self) -> Tensor:
        """The best score of any choice that contains a position, (..., K, S): Viterbi from both ends."""
        scores, *transitions = self.potentials
        if scores.shape[-2] == 0:
            return scores
        semiring = MaxSemiring()

        def step(cells: Tensor, backwards: bool) -> Tensor:
            if not transitions:
                return semiring.sum(cells, -1).unsqueeze(-1).expand(cells.shape)
            return _tiled_step(semiring, cells, transitions[0].mT if backwards else transitions[0])

        inside = before_end(self.lengths, scores.shape[-2], scores.device)  # (..., K)
        prefixes, suffixes = [scores[..., 0, :]], [torch.zeros_like(scores[..., 0, :])]
        for k in range(1, scores.shape[-2]):
            prefixes.append(step(prefixes[-1], False) + scores[..., k, :])
        for k in range(scores.shape[-2] - 1, 0, -1):
            longer = step(suffixes[-1] + scores[..., k, :], True)
            suffixes.append(torch.where(inside[..., k, None], longer, 0.0))
        best = torch.stack(prefixes, -2) + torch.stack(suffixes[::-1], -2)
        return torch.where(inside.unsqueeze(-1), best, NEGATIVE_INFINITY)

    def _scaled(self, scores: Tensor) -> Tensor:
        """The log-partition by products of scaled exponentials; OutOfRange if their range is too small."""
        with torch.autocast(scores.device.type, enabled=False):
            return self._forward(LogSemiring(), scores, ScaledTransitions(self._given[1:]).step)

    def _can_scale(self) -> bool:
        # Whether the scaled range suffices depends on the values, which a compiler or vmap does not know.
        return len(self._given) > 1 and self._given[0].shape[-2] > 1 and eager()

    def _fast_log_partition(self) -> Tensor | None:
        try:
            return self._scaled(self._given[0]) if self._can_scale() else None
        except OutOfRange:
            return None

    @recorded
    def _fast_marginals(self) -> Tensor | None:
        if not self._can_scale():
            return None
        try:
            marginals: Tensor = torch.func.grad(lambda scores: self._scaled(scores).sum())(self._given[0])
        except OutOfRange:
            return None
        return marginals


def _tiled_step(semiring: Semiring, prefix: Tensor, transitions: Tensor) -> Tensor:
    """Σ_i prefix[..., i] transitions[..., i, j], (..., S), computed for some j at a time."""
    tiles = transitions.split(max(1, TILE // max(1, prefix.numel())), -1)
    step = partial(_step, semiring)
    if len(tiles) == 1 or not semiring.deterministic:
        return torch.cat([step(prefix, tile) for tile in tiles], -1)
    return torch.cat([recomputed(step, prefix, tile) for tile in tiles], -1)


def _step(semiring: Semiring, prefix: Tensor, transitions: Tensor) -> Tensor:
    return semiring.sum(semiring.times(prefix.unsqueeze(-1), transitions), -2)
