"""The lines that `regard describe` prints for a system."""

from __future__ import annotations

from functools import cache

from regard import zoo


@cache
def board(name: str, *settings: str, letters: str = "") -> list[str]:
    """All lines that `regard describe` prints for a system, except the parameters; in the letters of a lecture, if one
    is named."""
    from regard.describe import answers, lettered

    spec = zoo.find(name, settings)
    found = lettered(spec, letters).answers if letters else answers(spec)
    return [line for lines in found.values() for line in lines]
