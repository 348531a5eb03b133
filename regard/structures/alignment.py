"""Monotone alignments of two sequences: pairs are matched in the same order, other positions are skipped.

    score(z) = Σ match[s, t] over matched pairs + Σ skip_source[s] + Σ skip_target[t] over unmatched positions

(Needleman and Wunsch 1970.) O(S T), in S + T steps along the anti-diagonals.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.base import Backend, Structure, logistic_noise
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
from regard.structures.ragged import pick
from regard.structures.semirings import Semiring


class MonotoneAlignment(Structure):
    """An alignment of S source and T target positions, each matched at most once, without crossings.

    match[..., s, t]      scores matching source s with target t; (..., S, T)
    skip_source[..., s]   scores leaving source s unmatched; (..., S); absent: 0
    skip_target[..., t]   scores leaving target t unmatched; (..., T); absent: 0
    lengths               a pair (source lengths, target lengths), from 0 to S and from 0 to T
    mask                  True where a match is allowed, broadcastable to match

    A value and `marginals` have the shape of match. An alignment is the set of its matches. The order in
    which the positions between two matches are skipped is not counted, so there are (S+T choose S)
    alignments.
    """

    def __init__(
        self,
        match: Scores,
        skip_source: Scores | None = None,
        skip_target: Scores | None = None,
        *,
        lengths: tuple[Lengths, Lengths] | None = None,
        mask: Mask | None = None,
        backend: Backend = "auto",
    ) -> None:
        match, source, target = as_floats(match=match, skip_source=skip_source, skip_target=skip_target)
        check_axes("match", match, "ST", [None, None])
        match = apply_mask(match, mask, 2)
        source = match.new_zeros(match.shape[-2]) if source is None else source
        target = match.new_zeros(match.shape[-1]) if target is None else target
        check_axes("skip_source", source, "S", [match.shape[-2]])
        check_axes("skip_target", target, "T", [match.shape[-1]])
        if lengths is not None and (not isinstance(lengths, tuple) or len(lengths) != 2):
            raise ValueError("lengths must be a pair (source lengths, target lengths).")
        source_lengths, target_lengths = (None, None) if lengths is None else lengths
        self.source_lengths = as_lengths(source_lengths, match.shape[-2], match.device, "source lengths")
        self.target_lengths = as_lengths(target_lengths, match.shape[-1], match.device, "target lengths")
        batch = joint_batch(
            match=match.shape[:-2],
            skip_source=source.shape[:-1],
            skip_target=target.shape[:-1],
            source_lengths=shape_of(self.source_lengths),
            target_lengths=shape_of(self.target_lengths),
        )
        potentials = [
            expand_batch(match, batch, 2),
            expand_batch(source, batch, 1),
            expand_batch(target, batch, 1),
        ]
        both = (self.source_lengths, self.target_lengths)
        super().__init__(potentials, batch, [2, 1, 1], lengths=both, backend=backend)

    def _perturbation(self, like: Tensor, generator: torch.Generator | None) -> Tensor:
        return logistic_noise(like, generator)

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        """Cell (s, t) covers s source and t target positions; on the anti-diagonal s + t = k its index is s.

        Between two matches the source is skipped first, then the target: `fresh` cells may still skip source
        positions; cells reached by skipping a target position may not. So each set of matches has one path.
        """
        match, source, target = parts
        sources, targets = match.shape[-2:]
        one = semiring.one(match, 2).unsqueeze(-1)
        start = torch.cat([one, semiring.zeros_like(one).expand(*one.shape[:-1], sources)], -1)  # (..., S+1)
        fresh, any_before, any_now = start, semiring.zeros_like(start), start
        diagonals = [any_now]
        # The scores that lead to an anti-diagonal: source positions (..., S+1); matches and target positions
        # (..., S+T+2, S+1), of which row k belongs to anti-diagonal k.
        source = _before(semiring, source)
        match = _before(semiring, _skew(semiring, match, 2))
        target = _skew(semiring, target.unsqueeze(-2).expand(*target.shape[:-1], sources + 1, targets), 1)
        for k in range(1, sources + targets + 1):
            matched = semiring.times(_before(semiring, any_before[..., :-1]), match[..., k, :])
            skipped = semiring.times(_before(semiring, fresh[..., :-1]), source)
            stale = semiring.times(any_now, target[..., k, :])
            fresh = semiring.plus(matched, skipped)
            any_before, any_now = any_now, semiring.plus(fresh, stale)
            diagonals.append(any_now)
        return self._goal(torch.stack(diagonals, -2), sources, targets)

    def _goal(self, diagonals: Tensor, sources: int, targets: int) -> Tensor:
        """The cell at both lengths, from all the anti-diagonals (..., S+T+1, S+1)."""
        s = torch.tensor(sources) if self.source_lengths is None else self.source_lengths
        t = torch.tensor(targets) if self.target_lengths is None else self.target_lengths
        s, t = s.to(diagonals.device), t.to(diagonals.device)
        return pick(diagonals.flatten(-2), (s + t) * (sources + 1) + s)


def _before(semiring: Semiring, x: Tensor) -> Tensor:
    """x with a zero element before its last axis: the value of s−1 at index s."""
    return torch.cat([semiring.zeros_like(x.new_zeros(*x.shape[:-1], 1)), x], -1)


def _skew(semiring: Semiring, x: Tensor, offset: int) -> Tensor:
    """(..., rows + columns + offset, rows): entry k, i is x[..., i, k − offset − i], zero outside of x."""
    rows, columns = x.shape[-2:]
    i = torch.arange(rows, device=x.device)
    j = torch.arange(rows + columns + offset, device=x.device).unsqueeze(-1) - offset - i
    padded = torch.cat([x, semiring.zeros_like(x.new_zeros(*x.shape[:-1], 1))], -1)
    return padded[..., i, torch.where((j >= 0) & (j < columns), j, columns)]
