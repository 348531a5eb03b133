"""Finished: the finished hypotheses of a beam search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Finished:
    """The best K finished hypotheses of each source so far, best first; a path is identified by its end.

    normalized   (B, K) score divided by the length penalty, −inf if there is no hypothesis yet
    totals       (B, K) log-probability
    steps        (B, K) the step at which END was written
    slots        (B, K) the slot of the beam from which END was written
    """

    normalized: Tensor
    totals: Tensor
    steps: Tensor
    slots: Tensor

    @staticmethod
    def empty(like: Tensor) -> Finished:
        """`like`: (B, K) floating point."""
        nothing = torch.full_like(like, -torch.inf)
        zeros = torch.zeros_like(like, dtype=torch.int64)
        return Finished(nothing, nothing, zeros, zeros)

    def add(self, normalized: Tensor, totals: Tensor, step: int | Tensor, slots: Tensor) -> Finished:
        """Candidates (B, C), −inf where there is none; the K best remain, the older first among equals."""
        size = self.totals.shape[1]
        every = torch.cat([self.normalized, normalized], 1)
        best, order = every.sort(dim=1, descending=True, stable=True)
        order = order[:, :size]

        def pick(old: Tensor, new: Tensor) -> Tensor:
            return torch.cat([old, new], 1).gather(1, order)

        return Finished(
            best[:, :size],
            pick(self.totals, totals),
            pick(self.steps, torch.zeros_like(slots) + step),
            pick(self.slots, slots),
        )

    def select(self, rows: Tensor) -> Finished:
        """The hypotheses of some of the sources, (B') int64."""
        return Finished(*(part.index_select(0, rows) for part in self.parts))

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.normalized, self.totals, self.steps, self.slots

    @staticmethod
    def joined(parts: Sequence[tuple[Tensor, Finished]]) -> Finished:
        """Join the hypotheses of some of the sources, given with their indices, to those of all."""
        if len(parts) == 1:
            return parts[0][1]
        order = torch.cat([rows for rows, _ in parts]).argsort()
        columns = zip(*(finished.parts for _, finished in parts), strict=True)
        return Finished(*(torch.cat(column)[order] for column in columns))

    @property
    def full(self) -> Tensor:
        """(B) whether a source has K finished hypotheses."""
        return self.normalized[:, -1] > -torch.inf
