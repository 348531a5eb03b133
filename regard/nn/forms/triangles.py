"""A triangulation: triangles without overlap that cover the hull of all points, their positions ascending.

A triangle may come next if it contains no other point, inside or on its sides, and no side of it crosses an
existing one. The existing sides can always be completed to a triangulation of all points, so there is such a
triangle until the hull is covered. The output ends then, and not before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.forms.form import FormState, points_in_plane, turns, with_stop
from regard.nn.memory import Memory


@dataclass(frozen=True)
class TrianglesState(FormState):
    """The triangles that a search has drawn so far, and those that may follow.

    turns    (B, S, S, S) the side of the line between two points on which a third one lies
    left     (B, K, S, S, S) the triangles that may still come, by their ascending positions from 0
    begun    (B, K, 2) the positions of the unfinished triangle
    count    number of positions of the unfinished triangle
    """

    by_source: ClassVar[frozenset[str]] = frozenset({"turns"})

    turns: Tensor
    left: Tensor
    begun: Tensor
    count: int = 0

    @classmethod
    def begin(cls, memory: Memory) -> Self:
        points = points_in_plane(memory, "triangle")
        sides = turns(points)
        left = _empty(sides, memory.mask)
        lost = memory.mask & ~(left.any(1).any(1) | left.any(1).any(-1) | left.any(-1).any(-1))
        if bool(lost.any()):
            row, number = lost.nonzero()[0].tolist()
            raise RegardError(
                f"point {number + 1} is a duplicate, so the points have no triangulation.",
                where=f"search, row {row + 1} of the batch",
                fix="Remove the duplicate.",
            )
        begun = torch.zeros(len(points), 1, 2, dtype=torch.int64, device=points.device)
        return cls(sides, left.unsqueeze(1), begun)

    @classmethod
    def longest(cls, lengths: Tensor) -> Tensor:
        return 3 * (2 * lengths - 5).clamp(min=1)

    def advance(self, tokens: Tensor) -> Self:
        corner = (tokens - 1).clamp(min=0)
        if self.count < 2:
            begun = self.begun.clone()
            begun[..., self.count] = corner
            return replace(self, begun=begun, count=self.count + 1)
        first, second = self.begun.unbind(-1)
        sides = ((first, second), (second, corner), (first, corner))
        crossed = torch.stack([self._crossing(*side) for side in sides]).any(0)  # (B, K, S, S)
        blocked = crossed.unsqueeze(-1) | crossed.unsqueeze(-3) | crossed.unsqueeze(-2)
        left = self.left & ~blocked
        rows, hypotheses = (torch.arange(size, device=tokens.device) for size in tokens.shape)
        left[rows[:, None], hypotheses, first, second, corner] = False
        return replace(self, left=left, count=0)

    def _crossing(self, start: Tensor, end: Tensor) -> Tensor:
        """(B, K, S, S) the segments between two points that cross the segment from `start`
        to `end`, (B, K)."""
        rows = torch.arange(len(start), device=start.device)[:, None]
        beside = self.turns[rows, start, end]  # (B, K, S)
        apart = beside.unsqueeze(-1) * beside.unsqueeze(-2) < 0
        seen = [self.turns.permute(0, 3, 1, 2)[rows, point] for point in (start, end)]  # (B, K, S, S)
        return apart & (seen[0] * seen[1] < 0)

    def allowed(self) -> Tensor:
        rows, hypotheses = (torch.arange(size, device=self.left.device) for size in self.left.shape[:2])
        if self.count == 0:
            positions = self.left.any(-1).any(-1)
        elif self.count == 1:
            positions = self.left[rows[:, None], hypotheses, self.begun[..., 0]].any(-1)
        else:
            positions = self.left[rows[:, None], hypotheses, self.begun[..., 0], self.begun[..., 1]]
        return with_stop(positions, torch.zeros_like(positions[..., 0]))


def _empty(sides: Tensor, mask: Tensor) -> Tensor:
    """(B, S, S, S) whether three ascending positions are a triangle without another point;
    sides: their turns."""
    size = mask.shape[1]
    number = torch.arange(size, device=mask.device)
    rising = (number[:, None, None] < number[:, None]) & (number[:, None] < number)
    exists = mask[:, :, None, None] & mask[:, None, :, None] & mask[:, None, None, :]
    found = (sides != 0) & rising & exists
    for other in range(size):
        seen = sides[..., other]  # (B, S, S)
        within = (
            (seen.unsqueeze(-1) * sides >= 0)
            & (seen.unsqueeze(1) * sides >= 0)
            & (-seen.unsqueeze(2) * sides >= 0)
        )  # of the sides ij, jk and ki
        own = number == other
        corner = own[:, None, None] | own[:, None] | own
        found &= ~(within & ~corner & mask[:, other, None, None, None])
    return found
