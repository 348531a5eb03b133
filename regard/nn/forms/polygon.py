"""A convex polygon, counterclockwise.

The corners so far form a convex polygon. A new corner must lie outside the edge from the last corner to the
first, and within the extensions of the two adjacent edges. All turns are then to the left, and from the third
corner on the polygon can be closed at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from regard.nn.forms.form import FormState, points_in_plane, turn, with_stop
from regard.nn.memory import Memory


@dataclass(frozen=True)
class PolygonState(FormState):
    """The corners of the polygons that a search has drawn so far.

    points    (B, S, 2), of which those in mask (B, S) exist
    corners   (B, K, 4) the first two and the last two corners, from 0
    count     number of corners
    """

    by_source: ClassVar[frozenset[str]] = frozenset({"points", "mask"})

    points: Tensor
    mask: Tensor
    corners: Tensor
    count: int = 0

    @classmethod
    def begin(cls, memory: Memory) -> Self:
        points = points_in_plane(memory, "polygon")
        corners = torch.zeros(len(points), 1, 4, dtype=torch.int64, device=points.device)
        return cls(points, memory.mask, corners)

    def advance(self, tokens: Tensor) -> Self:
        corner = (tokens - 1).clamp(min=0)
        first, second, _, last = self.corners.unbind(-1)
        if self.count == 0:
            first = corner
        if self.count == 1:
            second = corner
        return replace(self, corners=torch.stack([first, second, last, corner], -1), count=self.count + 1)

    def allowed(self) -> Tensor:
        rows = torch.arange(len(self.points), device=self.points.device)[:, None, None]
        first, second, before, last = (
            corner.unsqueeze(2) for corner in self.points[rows, self.corners].unbind(2)
        )  # (B, K, 1, 2)
        here = self.points.unsqueeze(1)  # (B, 1, S, 2)
        closed = self.corners.new_zeros(self.corners.shape[:2], dtype=torch.bool)
        if self.count == 0:
            positions = self.mask.unsqueeze(1).expand(-1, self.corners.shape[1], -1)
        elif self.count == 1:  # some point must lie to the left of the first edge
            left = turn(first.unsqueeze(3), here.unsqueeze(3), here.unsqueeze(2))  # (B, K, S, S)
            positions = ((left > 0) & self.mask[:, None, None]).any(-1)
        elif self.count == 2:
            positions = turn(first, second, here) > 0
        else:
            positions = (
                (turn(before, last, here) > 0)
                & (turn(last, here, first) > 0)
                & (turn(here, first, second) > 0)
            )
            closed = ~closed
        return with_stop(positions & self.mask.unsqueeze(1), closed)
