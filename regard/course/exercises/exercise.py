"""An exercise: a template, and questions whose answers are checked numerically."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Answer = Any
"""The student's file as a module."""


class Wrong(Exception):
    """A wrong answer; the message gives the expected and the received value."""


class Unanswered(Wrong):
    """No answer yet: the template's blank is not filled in."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not answered yet.")


@dataclass(frozen=True)
class GradedQuestion:
    """One question of an exercise.

    title   what the answer must do
    needs   the names that the student's file must define for it
    check   raises `Wrong` if the answer is wrong, `Unanswered` if there is none
    hint    shown if the answer is wrong
    """

    title: str
    needs: tuple[str, ...]
    check: Callable[[Answer], None]
    hint: str


@dataclass(frozen=True)
class Exercise:
    """An exercise for students.

    entries    the lecture entries that set it: 000.43
    template   the file to fill in; it holds no solution
    """

    name: str
    title: str
    entries: tuple[str, ...]
    task: str
    template: str
    questions: tuple[GradedQuestion, ...]


def numbers(value: Any, shape: Sequence[int], what: str) -> Array:
    """The result of a student's function as an array of the given shape; else raises `Wrong`."""
    if value is None or value is Ellipsis:
        raise Unanswered(what)
    try:
        found = np.asarray(value.detach() if hasattr(value, "detach") else value, dtype=float)
    except (TypeError, ValueError):
        raise Wrong(f"{what} is a {type(value).__name__}; expected numbers.") from None
    if found.shape != tuple(shape):
        raise Wrong(f"{what} has the shape {found.shape}, expected {tuple(shape)}.")
    if not np.isfinite(found).all():
        raise Wrong(f"{what} has numbers that are not finite.")
    return found


def close(found: Any, expected: Any, what: str, within: float = 1e-6) -> None:
    """Raise `Wrong` if two arrays differ."""
    off = float(np.abs(np.asarray(found) - np.asarray(expected)).max(initial=0.0))
    if off > within:
        raise Wrong(f"{what}: expected {told(expected)}, received {told(found)}.")


def told(value: Any) -> str:
    """Numbers as one line of text."""
    text = np.array2string(np.asarray(value), precision=4, separator=", ", threshold=8, suppress_small=True)
    return " ".join(text.split())
