"""The reference page of keys is up to date."""

from __future__ import annotations

import re
from pathlib import Path

from regard.data.columns.candidates import CandidatesColumn
from regard.spec.reference import options_table, page


def test_the_page_of_keys_is_current() -> None:
    written = Path(__file__).parents[2] / "docs" / "spec.md"
    assert written.read_text(encoding="utf-8") == page(), (
        "run: python -m regard.spec.reference > docs/spec.md"
    )


def test_every_table_row_has_as_many_cells_as_its_header() -> None:
    """GitHub splits a row at every `|` without a backslash, also inside of code."""
    mark = next(line for line in options_table(CandidatesColumn.Options) if line.startswith("| `mark` |"))
    assert r"| `\|` |" in mark
    for line in page().splitlines():
        if line.startswith("|"):
            assert len(re.split(r"(?<!\\)\|", line)) == 4 + 2, line
