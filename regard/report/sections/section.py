"""A section of a report: its title, and what it tells about the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from regard.data.contents import is_data
from regard.data.readers.row import readable
from regard.inspect import PageSection
from regard.report.context import ReportContext, ReportedRun

LONGEST = 160
"""Maximum number of characters of a text in a table."""


class ReportSection:
    """One section of a report. Write `of_run` for a section about each run, or `of` for one about all runs.

    title   the heading
    brief   whether the report that a training writes has it too
    """

    title: ClassVar[str] = ""
    brief: ClassVar[bool] = True

    def of(self, context: ReportContext) -> PageSection | None:
        """The section; None if there is nothing to tell. Several runs stand side by side."""
        found = [(run, one) for run in context.runs if (one := self.of_run(run, context)) is not None]
        if not found:
            return None
        if len(context.runs) == 1:
            return self.titled(found[0][1])
        return PageSection(self.title, beside=[_named(one, run.name) for run, one in found])

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection | None:
        """What it tells about one run; None if there is nothing to tell."""
        return None

    def titled(self, section: PageSection) -> PageSection:
        return _named(section, self.title)


def _named(section: PageSection, heading: str) -> PageSection:
    return replace(section, heading=heading)


def shown(text: str, longest: int = LONGEST) -> str:
    """A text of the data as a table shows it: in one line, shortened; contents of files are left out."""
    if is_data(text):
        return f"({len(text):,} characters of data)"
    line = " ".join(readable(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def filled(head: Sequence[str], rows: Sequence[Sequence[object]]) -> tuple[list[str], list[list[object]]]:
    """A table without the columns that are empty in all rows."""
    kept = [place for place in range(len(head)) if any(row[place] not in ("", None) for row in rows)]
    return [head[place] for place in kept], [[row[place] for place in kept] for row in rows]
