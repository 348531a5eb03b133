"""Inputs of a split that the model was trained on."""

from __future__ import annotations

from collections.abc import Iterable

from regard.data import Row
from regard.spec import Spec


def repeated_inputs(train: Iterable[Row], rows: Iterable[Row], spec: Spec) -> tuple[int, int]:
    """(number of distinct inputs of `rows` that also occur in `train`, number of distinct inputs)."""
    if spec.data.provider or not spec.inputs:
        return 0, 0
    fields = [part.field or name for name, part in spec.inputs.items()]
    known = {_input(row, fields) for row in rows}
    found = {value for row in train if (value := _input(row, fields)) in known}
    return len(found), len(known)


def _input(row: Row, fields: list[str]) -> tuple[str, ...]:
    return tuple(row.get(field, "").strip() for field in fields)
