"""Features of a frozen encoder, computed once for each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

MOST_BYTES = 4 << 30
"""Size of all kept features; later rows are computed every time."""


class FeatureCache:
    """The features of rows by a key of their content. Key 0: the row is not kept.

    Each row is computed alone, so that its features do not depend on the other rows of a batch: they are the same in
    every epoch, and after a resumption.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most, self.bytes = most, 0
        self._kept: dict[int, Tensor] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def rows(self, keys: Sequence[int], compute: Callable[[int], Tensor]) -> list[Tensor]:
        """The features of each row; `compute` is called with the number of a row that is not kept."""
        found = []
        for number, key in enumerate(keys):
            kept = self._kept.get(key) if key else None
            if kept is None:
                with torch.no_grad():
                    kept = compute(number).detach()
                size = kept.numel() * kept.element_size()
                if key and self.bytes + size <= self.most:
                    self._kept[key] = kept
                    self.bytes += size
            found.append(kept)
        return found
