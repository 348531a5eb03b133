"""The expected value of a computation, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pydantic import model_validator

from regard.course.lab.lab import plain, written
from regard.course.lectures.arithmetic import computed
from regard.parts import NotNegative, Settings

ROUNDING = 1e-9
"""Default tolerance of floats, relative to the larger of 1 and the expected value."""
LONGEST = 72
"""Maximum number of characters of a printed value."""


class Truth(Settings):
    """The expected value: one of expected, truth, at_least and at_most, or the last two together."""

    of: str = ""
    """The name of the value."""
    expected: Any = None
    """The value itself: a number, a text, true or false, or a list of those."""
    truth: str = ""
    """The value as arithmetic, without access to regard: a closed form, an enumeration."""
    within: NotNegative | None = None
    """Tolerance of a number; default: rounding."""
    at_least: float | None = None
    """The smallest accepted number."""
    at_most: float | None = None
    """The largest accepted number."""

    @model_validator(mode="after")
    def _one_truth(self) -> Truth:
        given = [
            self.expected is not None,
            bool(self.truth),
            self.at_least is not None or self.at_most is not None,
        ]
        if sum(given) > 1:
            raise ValueError("expected, truth and at_least or at_most exclude each other")
        return self

    def wanted(self) -> Any:
        """The expected value; None if only bounds are given."""
        return settled(computed(self.truth)) if self.truth else self.expected

    def told(self) -> str:
        """The expected value as text, after its name."""
        return f"{self.of}: {self._wording()}" if self.of else self._wording()

    def _wording(self) -> str:
        if self.at_least is not None and self.at_most is not None:
            return f"{written(self.at_least)} to {written(self.at_most)}"
        if self.at_least is not None:
            return f"at least {written(self.at_least)}"
        if self.at_most is not None:
            return f"at most {written(self.at_most)}"
        value = shown(self.wanted())
        return f"{value} ± {written(self.within)}" if self.within else value

    def said(self, found: Any) -> str:
        """A computed value as text."""
        return shown(found)

    def holds(self, found: Any) -> bool:
        """Whether a computed value, converted by `settled`, is as expected."""
        if self.at_least is not None or self.at_most is not None:
            if isinstance(found, bool) or not isinstance(found, int | float):
                return False
            low = -math.inf if self.at_least is None else self.at_least
            high = math.inf if self.at_most is None else self.at_most
            return bool(low <= found <= high)
        return _agree(self.wanted(), found, self.within)


def settled(value: Any) -> Any:
    """Convert a value to plain data: numbers, texts, lists."""
    if isinstance(value, Fraction):
        return float(value)
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return plain(value)


def shown(value: Any) -> str:
    """A value as one line of text."""
    text = _shown(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(item)}" for key, item in value.items())
    if isinstance(value, float) and value == int(value) and abs(value) < 1e7:
        return written(int(value))
    return written(value).replace("\n", " ⏎ ")


def _agree(wanted: Any, found: Any, within: float | None) -> bool:
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, Sequence)
            and not isinstance(found, str)
            and len(found) == len(wanted)
            and all(_agree(one, other, within) for one, other in zip(wanted, found, strict=True))
        )
    if isinstance(wanted, bool) or not isinstance(wanted, int | float):
        return type(wanted) is type(found) and bool(wanted == found)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    allowed = ROUNDING * max(1.0, abs(wanted)) if within is None else within
    return bool(abs(found - wanted) <= allowed)
