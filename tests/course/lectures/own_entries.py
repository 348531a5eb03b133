"""Entries of the tests' own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.course.lectures import LectureEntry

Command = Callable[..., tuple[int, str, str]]


def entry(**data: Any) -> LectureEntry:
    return LectureEntry.model_validate(
        {"number": 1, "place": "L1", "kind": "claim", "claim": "It is so.", **data}
    )
