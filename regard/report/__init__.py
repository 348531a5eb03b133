"""Reports: one self-contained page about a run, or about several side by side; and a table of many runs.

context    what a report knows about a run: its model, evaluation, strangest answers, data; each made on demand
data       the rows of all splits: lengths, vocabularies, rejected and repeated rows, unknown words
sections   the sections of the page, a file each
report     the page
runs       many runs: their scores, settings that differ, and curves over each other

The room can be called: `regard.report("runs/my")` is `regard.report.report("runs/my")`.
"""

import sys
from types import ModuleType
from typing import Any

from regard.report.context import ReportContext, ReportedRun
from regard.report.report import Report, report, report_of_training, write_after_training
from regard.report.runs import RunSummary, RunTable, runs
from regard.report.sections import SECTIONS, ReportSection

__all__ = [
    "SECTIONS",
    "Report",
    "ReportContext",
    "ReportSection",
    "ReportedRun",
    "RunSummary",
    "RunTable",
    "report",
    "report_of_training",
    "runs",
    "write_after_training",
]


class _Room(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Report:
        return report(*arguments, **options)


sys.modules[__name__].__class__ = _Room
