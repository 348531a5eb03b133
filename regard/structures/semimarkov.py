"""Semi-Markov chains: a sequence is cut into labeled segments of at most D positions.

    score(z) = Σ segments[n, d, c] over the segments + Σ transitions[c, c'] over neighboring segments

(Sarawagi and Cohen 2004, Semi-Markov conditional random fields.) O(N (D C + C²)).
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.base import Backend, Structure
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


class SemiMarkov(Structure):
    """A segmentation of N positions into labeled segments.

    segments[..., n, d, c]    scores label c over the d+1 positions n .. n+d; (..., N, D, C)
    transitions[..., c, c']   scores a segment with label c followed by one with label c'; (..., C, C);
                              absent: 0
    lengths                   (...,) from 0 to N; a segment that would reach beyond is impossible
    mask                      True where a segment is allowed, broadcastable to segments

    A value and `marginals` have the shape of segments: p(label c covers exactly n .. n+d).
    """

    def __init__(
        self,
        segments: Scores,
        transitions: Scores | None = None,
        *,
        lengths: Lengths = None,
        mask: Mask | None = None,
        backend: Backend = "auto",
    ) -> None:
        segments, transitions = as_floats(segments=segments, transitions=transitions)
        check_axes("segments", segments, "NDC", [None, None, None])
        labels = segments.shape[-1]
        if transitions is None:
            transitions = segments.new_zeros(labels, labels)
        check_axes("transitions", transitions, "CC", [labels, labels])
        segments = apply_mask(segments, mask, 3)
        self.lengths = as_lengths(lengths, segments.shape[-3], segments.device)
        batch = joint_batch(
            segments=segments.shape[:-3], transitions=transitions.shape[:-2], lengths=shape_of(self.lengths)
        )
        potentials = [expand_batch(segments, batch, 3), expand_batch(transitions, batch, 2)]
        super().__init__(potentials, batch, [3, 2], lengths=(self.lengths,), backend=backend)

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        segments, transitions = parts
        positions, longest = segments.shape[-3:-1]
        empty = semiring.one(segments, 3)
        totals = [empty]  # the sum over segmentations of the first n positions
        ready = [
            empty.unsqueeze(-1).expand(*empty.shape, segments.shape[-1])
        ]  # the same, with the next label known
        for end in range(1, positions + 1):
            durations = torch.arange(min(longest, end), device=segments.device)
            last = segments[..., end - 1 - durations, durations, :]  # (..., d, C): the segments that end here
            before = torch.stack(ready[: -len(durations) - 1 : -1], -2)  # (..., d, C): what precedes each
            ending = semiring.sum(semiring.times(before, last), -2)  # (..., C): by the last label
            totals.append(semiring.sum(ending, -1))
            ready.append(semiring.sum(semiring.times(ending.unsqueeze(-1), transitions), -2))
        if self.lengths is None:
            return totals[-1]
        return pick(torch.stack(totals, -1), self.lengths)
