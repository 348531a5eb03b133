"""Restore columns from their states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.data.columns.column import Column
from regard.errors import RegardError
from regard.parts import names, part


def column_from_state(state: Mapping[str, Any]) -> Column:
    """The column that returned this `state()`."""
    name = str(state.get("type", ""))
    kind = part("column", name)
    if kind is None:
        raise RegardError(
            f"the type of a column is {state.get('type')!r}, expected one of {', '.join(names('column'))}.",
            fix="Install the package the model names for it, or the version of regard that saved it.",
        )
    restored: Column = kind.from_state(state)
    return restored
