"""The state of an unfinished form: which positions may come next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from regard.data.columns.points import ROUNDING
from regard.errors import RegardError
from regard.nn.memory import Memory


@dataclass(frozen=True)
class FormState:
    """The unfinished forms of K hypotheses about each of B sources.

    by_source   names of the fields that belong to the source, (B, …); all other tensors are (B, K, …)
    """

    by_source: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def begin(cls, memory: Memory) -> Self:
        """The empty form, of one hypothesis for each source."""
        raise NotImplementedError

    @classmethod
    def longest(cls, lengths: Tensor) -> Tensor:
        """(B) the number of pointers in the longest form over this many positions."""
        return lengths

    def advance(self, tokens: Tensor) -> Self:
        """The state after the tokens (B, K): positions from 1, or 0 for a hypothesis that has ended."""
        raise NotImplementedError

    def allowed(self) -> Tensor:
        """(B, K, 1 + S) bool: whether to stop, and which positions may come next; at least one is True."""
        raise NotImplementedError

    def reorder(self, parents: Tensor) -> Self:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""
        rows = torch.arange(len(parents), device=parents.device)[:, None]
        return self._changed(lambda name, tensor: tensor if name in self.by_source else tensor[rows, parents])

    def select(self, rows: Tensor) -> Self:
        """The state of some of the sources, (B') int64."""
        return self._changed(lambda name, tensor: tensor.index_select(0, rows))

    def _changed(self, change: Callable[[str, Tensor], Tensor]) -> Self:
        tensors = {
            one.name: change(one.name, value)
            for one in fields(self)
            if isinstance(value := getattr(self, one.name), Tensor)
        }
        return replace(self, **tensors)


def with_stop(positions: Tensor, stop: Tensor) -> Tensor:
    """(B, K, S) positions and (B, K) whether to stop → (B, K, 1 + S); stops if no position is allowed."""
    stop = stop | ~positions.any(-1)
    return torch.cat([stop.unsqueeze(-1), positions], -1)


def turn(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """(…) int8 for points (…, 2): 1 if the third lies to the left of the line from the first to the second,
    −1 if to the right, 0 if the three are collinear, up to rounding."""
    way, other = second - first, third - first
    across = way[..., 0] * other[..., 1] - way[..., 1] * other[..., 0]
    least = ROUNDING * torch.maximum(way.square().sum(-1), other.square().sum(-1))
    return torch.where(across.abs() > least, across.sign(), 0.0).to(torch.int8)


def turns(points: Tensor) -> Tensor:
    """(B, S, 2) → (B, S, S, S) int8: the turn of every three points."""
    return turn(points[:, :, None, None], points[:, None, :, None], points[:, None, None])


def points_in_plane(memory: Memory, form: str) -> Tensor:
    """(B, S, 2) points of a memory, in double precision; refuses points that make no polygon."""
    if memory.points is None or memory.points.shape[-1] != 2:
        raise RegardError(f"form: {form} needs points with two coordinates.", where="search")
    points, mask = memory.points.double(), memory.mask
    first = points[:, :1]
    lengths = torch.where(mask, (points - first).square().sum(-1), 0.0)
    far = points[torch.arange(len(points), device=points.device), lengths.argmax(1)].unsqueeze(1)
    flat = ~((turn(first, far, points) != 0) & mask).any(1)
    if bool(flat.any()):
        row = int(flat.nonzero()[0])
        raise RegardError(
            f"the {int(mask[row].sum())} points lie on one line, so they have no {form}.",
            where=f"search, row {row + 1} of the batch",
            fix="Leave the row out.",
        )
    return points
