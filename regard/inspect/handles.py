"""Handles: what a mark stands for, so that a live figure can act on it.

A handle says what the mark shows (the weight of a position at a step, an arc, a word), never what a page does with it:
that depends on its kind alone. A still figure does not write handles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = [
    "ArcHandle",
    "BranchHandle",
    "Handle",
    "PieceHandle",
    "PlaneHandle",
    "SegmentHandle",
    "WeightHandle",
    "WordHandle",
]


@dataclass(frozen=True)
class Handle:
    """What a mark stands for, as plain data."""

    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """The handle as JSON: its kind and its fields; weights have four decimals."""
        return {"kind": self.kind, **{name: _plain(value) for name, value in vars(self).items()}}


@dataclass(frozen=True)
class WeightHandle(Handle):
    """The weight of one position at one step: a cell, a shaded word, a sentence, a cell of an image, a frame."""

    kind: ClassVar[str] = "weight"

    input: str
    step: int
    position: int
    value: float

    def to_dict(self) -> dict[str, Any]:  # a figure has thousands of them
        return {
            "kind": "weight",
            "input": self.input,
            "step": self.step,
            "position": self.position,
            "value": round(self.value, 4),
        }


@dataclass(frozen=True)
class ArcHandle(Handle):
    """An arc of a dependency tree. Words count from 1; head 0 is the root."""

    kind: ClassVar[str] = "arc"

    input: str
    head: int
    dependent: int
    value: float


@dataclass(frozen=True)
class SegmentHandle(Handle):
    """A segment of the input at one step, from `start` to before `end`."""

    kind: ClassVar[str] = "segment"

    input: str
    step: int
    start: int
    end: int
    value: float


@dataclass(frozen=True)
class PieceHandle(Handle):
    """A piece of the output."""

    kind: ClassVar[str] = "piece"

    step: int


@dataclass(frozen=True)
class WordHandle(Handle):
    """A piece of an input."""

    kind: ClassVar[str] = "word"

    input: str
    position: int


@dataclass(frozen=True)
class PlaneHandle(Handle):
    """An image or a spectrogram on which a region or a span can be drawn; step None: it stands for every step."""

    kind: ClassVar[str] = "plane"

    input: str
    step: int | None


@dataclass(frozen=True)
class BranchHandle(Handle):
    """A node of the search: the pieces written up to it."""

    kind: ClassVar[str] = "branch"

    prefix: tuple[str, ...]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return round(value, 4) if isinstance(value, float) else value
