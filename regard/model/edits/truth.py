"""Inputs with the truth of their rows beside them, for `TruthEdit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.data import Row
from regard.data.columns import Column
from regard.data.frames import value_in


def with_truth(
    rows: Sequence[Row], given: Sequence[Any], columns: Mapping[str, Column]
) -> tuple[list[Row], list[str]]:
    """The rows, each with the truth and what it is about, if the given input has them; and the names of the columns
    that all rows have: all of these, or none."""
    found, known = [], True
    for row, value in zip(rows, given, strict=True):
        truths = {}
        for column in columns.values():
            one = value_in(value, column.field) if isinstance(value, Mapping) else None
            if one is None:
                known = False
            else:
                truths[column.field] = column.written(one)
        found.append(Row({**row, **truths}, file=row.file, line=row.line, folder=row.folder))
    return found, list(columns) if known else []
