"""Per-dialog metrics, counted by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from regard.data.columns import LabelColumn, TextColumn
from regard.data.columns.group import GroupColumn
from regard.metrics import metric
from regard.metrics.metric import OutputInfo


class Answers:
    """Predictions and references, by dialog."""

    def __init__(self, rows: list[tuple[str, str, list[str]]]) -> None:
        self.rows = rows
        self.predictions = [SimpleNamespace(value=value) for _, value, _ in rows]
        self.references = [true for *_, true in rows]

    def __len__(self) -> int:
        return len(self.rows)

    def raw(self, row: int) -> dict[str, str]:
        return {"conversation": self.rows[row][0]}


def test_a_dialog_is_right_where_every_response_is() -> None:
    rows = [
        ("1", "a", ["a"]),
        ("2", "a", ["b"]),
        ("1", "b", ["c", "b"]),
        ("3", "x", ["x"]),
        ("2", "c", ["c"]),
    ]
    found: Any = metric("dialog_accuracy").measure(Answers(rows))  # type: ignore[arg-type]
    assert found.value == pytest.approx(2 / 3)
    assert found.signature == "share of 3 dialogs with every response right"


def test_it_needs_to_know_the_dialog() -> None:
    columns: dict[str, Any] = {
        "response": TextColumn("response"),
        "conversation": GroupColumn("conversation"),
    }
    one = metric("dialog_accuracy")
    assert one.refuses(OutputInfo("response", columns, [], ["response"], {}, [])) is None
    columns["conversation"] = LabelColumn("conversation")
    reason = one.refuses(OutputInfo("response", columns, [], ["response"], {}, []))
    assert reason and "conversation: {type: group}" in reason
