"""Unfinished: the sources that are still being searched; finished ones have left the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

SHARE = 0.25
"""Share of the unfinished sources that must be finished before they leave together:
each departure copies the rest."""


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Some of the `total` sources of a search.

    rows      (B') int64, their indices, in order
    numbers   the same as integers
    """

    total: int
    rows: Tensor
    numbers: Sequence[int]

    @staticmethod
    def all(total: int, device: torch.device) -> Unfinished:
        return Unfinished(total, torch.arange(total, device=device), range(total))

    def __len__(self) -> int:
        return len(self.numbers)

    def worth_leaving(self, finished: int) -> bool:
        """Whether this many finished sources should leave now."""
        return finished > 0 and finished >= SHARE * len(self)

    def select(self, kept: Tensor) -> Unfinished:
        """The sources that stay, given their indices among the unfinished ones, (B'') int64."""
        rows = self.rows.index_select(0, kept)
        return Unfinished(self.total, rows, rows.tolist())

    def pick(self, tensor: Tensor) -> Tensor:
        """(B, …) of all sources → (B', …) of the unfinished ones."""
        return tensor if len(self) == self.total else tensor.index_select(0, self.rows)

    def restore(self, tensor: Tensor) -> Tensor:
        """(B', …) of the unfinished sources → (B, …) of all, with zeros for sources that have left."""
        if len(self) == self.total:
            return tensor
        return tensor.new_zeros(self.total, *tensor.shape[1:]).index_copy_(0, self.rows, tensor)


def over_time(parts: Sequence[tuple[Unfinished, Tensor]]) -> Tensor:
    """Concatenate the results of consecutive steps, (n, B', K, …) for their unfinished sources, to one tensor
    (B, K, T, …)."""
    found = [
        unfinished.restore(torch.cat([tensor for _, tensor in together]).movedim(0, 2).contiguous())
        for unfinished, together in groupby(parts, lambda part: part[0])
    ]
    return found[0] if len(found) == 1 else torch.cat(found, 2)
