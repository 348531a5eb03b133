"""What a trace holds for an input, by its kind: a structure that was selected, or an input that is not a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from regard import parts
from regard.errors import RegardError

Array = NDArray[np.floating[Any]]
"""An array of real numbers."""


class Traced:
    """Something that a trace holds for one of its inputs.

    A drawing (`regard.inspect.TracedDrawing`) names the class that it draws; `kind`, which is written to JSON, finds it
    again. A frozen dataclass that derives from `TracedStructure` or `Seen` has its conversions to and from JSON.
    """

    kind: ClassVar[str]

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        """Refuse what does not fit the number of output pieces or of positions of an input; default: nothing."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for JSON; `kind` among them."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Traced:
        """The inverse of `to_dict`."""
        raise NotImplementedError


def traced_from_dict(values: Mapping[str, Any]) -> Any:
    """The inverse of `to_dict`, for all kinds: those of the registered drawings."""
    kinds: dict[str, type[Traced]] = {}
    for name in parts.names("drawing"):
        traced = getattr(parts.part("drawing", name), "traced", None)
        if traced is not None:
            kinds[traced.kind] = traced
    kind = values.get("kind")
    if kind not in kinds:
        raise RegardError(
            f"{kind!r} is not a known kind of what a trace holds; the known kinds are {', '.join(sorted(kinds))}.",
            fix="Install the package whose drawing has this kind.",
        )
    return kinds[kind].from_dict(values)


def to_json(score: float) -> float | None:
    """None for minus infinity, the score of an impossible output, which JSON does not have."""
    return float(score) if math.isfinite(score) else None


def from_json(score: float | None) -> float:
    return -math.inf if score is None else score
