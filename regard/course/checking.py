"""Checks of labs."""

from __future__ import annotations

import json
from typing import Any

from regard.course.lab import LabResult
from regard.course.lab.lab import plain
from regard.testing.report import PartReport, Stop


def check_lab(report: PartReport, options: Any) -> None:
    with report.calling("run", "a LabResult"):
        found = options.part.run(options)
    if not isinstance(found, LabResult):
        report.add("run", "a LabResult", type(found).__name__)
        raise Stop
    head, rows = found.table
    wrong = [row for row in rows if len(row) != len(head)]
    report.is_true(
        "run", not wrong, f"{len(head)} cells in every row of the table", f"{len(wrong[0]) if wrong else 0}"
    )
    report.is_true(
        "run", found.see.rstrip().endswith((".", "!", "?")), "one sentence as `see`", repr(found.see)
    )
    with report.calling("run", "numbers as plain data"):
        json.dumps(plain(found.numbers), allow_nan=False)
    with report.calling("run", "a figure and a page"):
        report.is_true("run", bool(found.figure), "a figure", "none")
        report.is_true("run", "<svg" in found.page() or bool(found.steps), "a page with the figure", "none")
