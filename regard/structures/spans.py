"""A chart over the spans of a sequence, filled from narrow to wide."""

from __future__ import annotations

import torch
from torch import Tensor


class SpanChart:
    """The cells of all spans narrower than the next width, indexed by their start and by their end.

    With n positions and spans of widths 0 .. w so far (a span from i to j has width j − i),

    by_start[..., i, u]   the span of width u that begins at i
    by_end[..., i, u]     the span of width u that ends at i + w

    for i = 0 .. n−1−w, where spans of width w begin. The halves of a wider span are then aligned: nothing is
    written in place, and one sum over the last axis combines all splits.
    """

    def __init__(self, narrowest: Tensor) -> None:
        self.by_start = self.by_end = narrowest.unsqueeze(-1)  # (..., n, 1)

    def grow(self, cells: Tensor) -> None:
        """Add the spans of the next width, (..., n − 1 − w), in the order of their starts."""
        self.by_start = torch.cat([self.by_start[..., :-1, :], cells.unsqueeze(-1)], -1)
        self.by_end = torch.cat([self.by_end[..., 1:, :], cells.unsqueeze(-1)], -1)

    def left_parts(self) -> Tensor:
        """For each span of the next width, the cells with the same start, from narrow to wide."""
        return self.by_start[..., :-1, :]

    def right_parts(self) -> Tensor:
        """For each span of the next width, the cells with the same end, from wide to narrow."""
        return self.by_end[..., 1:, :].flip(-1)

    def from_first(self) -> Tensor:
        """The spans that begin at the first position, by width."""
        return self.by_start[..., 0, :]
