"""Ranges of columns: the field x1..x200 holds the numbers of the cells from x1 to x200, separated by spaces."""

from __future__ import annotations

from collections.abc import Sequence

RANGE = ".."


def ends(field: str, names: Sequence[str]) -> tuple[str, str] | None:
    """The first and the last column of a range; None if the field names a single column."""
    found = field.split(RANGE)
    return (found[0], found[1]) if len(found) == 2 and all(found) and field not in names else None


def ends_of(fields: Sequence[str], names: Sequence[str]) -> list[str]:
    """The fields, with the first and last column in place of each range."""
    return [end for field in fields for end in ends(field, names) or (field,)]
