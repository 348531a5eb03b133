"""The overview of the results page is generated from its sections and from the zoo."""

from __future__ import annotations

from pathlib import Path

from regard.course.lectures.overview import renewed

BOOK = (Path(__file__).parents[3] / "docs" / "results.md").read_text(encoding="utf-8")


def test_the_overview_is_up_to_date() -> None:
    assert renewed(BOOK) == BOOK, "run `python -m regard.course.lectures.overview docs/results.md`"
