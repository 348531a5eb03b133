"""The lines that `regard describe` prints for a system."""

from __future__ import annotations

from functools import cache

from regard import zoo


@cache
def board(name: str, *settings: str) -> list[str]:
    """All lines that `regard describe` prints for a system, except the parameters."""
    from regard.describe import answers

    return [line for lines in answers(zoo.find(name, settings)).values() for line in lines]
