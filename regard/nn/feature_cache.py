"""Features of a frozen encoder, computed once for each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

MOST_BYTES = 4 << 30
"""Size of all kept features; later rows are computed every time."""
FIRST = 200_000
"""Number of rows after which nothing more is kept if no row has come twice."""


class FeatureCache:
    """The features of rows by a key of their content. Key 0: the row is not kept.

    Each row is computed alone, so that its features do not depend on the other rows of a batch: they are the same in
    every epoch, and after a resumption.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most, self.bytes = most, 0
        self._met = self._missed = 0
        self._kept: dict[int, Tensor] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def _is_worthwhile(self) -> bool:
        """Whether rows come again; rows that vary in every epoch, as augmented images do, are not kept forever."""
        return self._missed < FIRST or self._met > 0

    def rows(self, keys: Sequence[int], compute: Callable[[int], Tensor]) -> list[Tensor]:
        """The features of each row; `compute` is called with the number of a row that is not kept."""
        found = []
        for number, key in enumerate(keys):
            kept = self._kept.get(key) if key else None
            self._met, self._missed = self._met + (kept is not None), self._missed + (kept is None)
            if kept is None:
                with torch.no_grad():
                    kept = compute(number).detach()
                size = kept.numel() * kept.element_size()
                if key and self.bytes + size <= self.most and self._is_worthwhile():
                    self._kept[key] = kept
                    self.bytes += size
            found.append(kept)
        return found
