"""The commands that make it all again."""

from __future__ import annotations

import shlex

from regard.inspect import PageSection
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection


class CommandSection(ReportSection):
    title = "Make it again"

    def of(self, context: ReportContext) -> PageSection | None:
        places = [shlex.quote(str(run.folder)) for run in context.runs if run.folder is not None]
        if not places:
            return None
        split, rows = context.wanted.split, context.wanted.rows
        options = f"{f' --split {split}' if split else ''}"
        lines = [f"regard report {' '.join(places)}{options} --rows {rows} -o report.html"]
        for run, place in zip(context.runs, places, strict=False):
            lines += ["", *_lines(run, place)]
        if len(places) > 1:
            lines += ["", f"regard evaluate {' '.join(places)} --split {context.first.split} --compare"]
        return PageSection(self.title, code="\n".join(lines))


def _lines(run: ReportedRun, place: str) -> list[str]:
    again = f"regard train {place}/spec.yaml -o {place}-again   # the same data, settings and seed"
    found = [again, f"regard evaluate {place} --split {run.split}"]
    if run.answers:
        row = run.strange[0].row + 1 if not run.wanted.short and run.strange else 1
        found.append(f"regard show {place} --row {row} --split {run.split}")
    return found
