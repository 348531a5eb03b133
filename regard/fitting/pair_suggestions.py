"""Which columns of a file look like a source and a target: suggestions for messages, and tables of measurements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from regard.data import read_rows
from regard.data.readers.layout import RANGE
from regard.data.readers.reader import Field
from regard.errors import RegardError

INSPECTED = 200
"""Number of rows that are compared."""
IDENTIFIERS = ("id", "idx", "index", "uid", "uuid", "guid", "")
"""Names of columns that number the rows."""
SOURCES = (
    "source",
    "src",
    "text",
    "sentence",
    "input",
    "review",
    "comment",
    "question",
    "prompt",
    "document",
    "body",
)
TARGETS = (
    "target",
    "tgt",
    "label",
    "class",
    "category",
    "output",
    "answer",
    "sentiment",
    "intent",
    "tag",
    "y",
    "response",
)
WIDEST = 8
"""Minimum number of columns of measurements that are a series."""

_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_COUNTED = re.compile(r"(.*?)(\d+)")


def suggested(path: str, format: Any, found: Sequence[Field], missing: Sequence[str]) -> dict[str, str]:
    """The columns that look most like the missing sides; a side without a likely column is left out.

    The source is the column with the most words. The target is named like one, or has few values that repeat, or is the
    longest of the other texts. Dates, identifiers and constants are neither.
    """
    usable = [field.name for field in found if not field.listed and field.name.lower() not in IDENTIFIERS]
    try:
        rows = list(islice(read_rows(path, fields=usable, format=format, bad_rows="skip"), INSPECTED))
    except RegardError:
        return {}
    values = {name: [row[name].strip() for row in rows if row.get(name, "").strip()] for name in usable}
    likely = [name for name in usable if values[name] and not _is_idle(values[name])]
    chosen: dict[str, str] = {}
    for side, rank in (("source", _as_source), ("target", _as_target)):
        rest = [name for name in likely if name not in chosen.values()]
        if side in missing and rest:
            chosen[side] = max(rest, key=lambda name: rank(name, values[name]))
    return chosen


def _is_idle(values: Sequence[str]) -> bool:
    """Whether values can be neither read nor predicted: dates, a constant, codes that are all different."""
    codes = len(values) > 5 and len(set(values)) == len(values) and all(map(_is_identifier, values))
    return len(set(values)) == 1 or all(map(_DATE.fullmatch, values)) or codes


def _is_identifier(value: str) -> bool:
    """Whether a value is a code with at least as many digits as letters: A17-3, 4f2e0."""
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    return " " not in value and digits >= max(letters, 1) and not _NUMBER.fullmatch(value)


def _as_source(name: str, values: Sequence[str]) -> tuple[float, ...]:
    words = sum(len(value.split()) for value in values) / len(values)
    letters = any(map(str.isalpha, "".join(values)))
    return _named(name, SOURCES), letters, round(words), -_repeated(values)


def _as_target(name: str, values: Sequence[str]) -> tuple[float, ...]:
    few = _repeated(values) > 0.5
    number = all(map(_NUMBER.fullmatch, values))
    return _named(name, TARGETS), few and not number, not number, few, -len(set(values))


def _named(name: str, known: Sequence[str]) -> float:
    """How early a name is in a list of usual ones, 0 if it is not there."""
    words = re.split(r"[^a-z]+", name.lower())
    return max((1 - place / len(known) for place, one in enumerate(known) if one in words), default=0.0)


def _repeated(values: Sequence[str]) -> float:
    return 1 - len(set(values)) / len(values)


def wide_sides(found: Sequence[Field]) -> tuple[str, str] | None:
    """The range of columns that hold one series, x1..x200, and the only other column; None for other tables.

    The columns are named by one prefix and consecutive numbers, and hold numbers in the first row.
    """
    names = [field.name for field in found]
    counted = [_COUNTED.fullmatch(name.strip()) for name in names]
    rest = [place for place, one in enumerate(counted) if one is None]
    rest = [place for place in rest if names[place].lower() not in IDENTIFIERS]
    places = [place for place, one in enumerate(counted) if one is not None]
    if len(rest) != 1 or len(places) < WIDEST or places != list(range(places[0], places[-1] + 1)):
        return None
    parts = [(one[1], int(one[2])) for one in counted if one is not None]
    consecutive = all(one == (parts[0][0], parts[0][1] + step) for step, one in enumerate(parts))
    if not consecutive or not all(_NUMBER.fullmatch(found[place].example.strip()) for place in places):
        return None
    return f"{names[places[0]]}{RANGE}{names[places[-1]]}", names[rest[0]]
