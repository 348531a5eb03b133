"""What the model computes: the six answers of `regard describe`, and its drawing."""

from __future__ import annotations

from regard.describe import described, draw
from regard.inspect import PageSection
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection


class DescriptionSection(ReportSection):
    title = "The model"

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection:
        folder = "" if run.folder is None else str(run.folder)
        rows = [
            [question, "\n".join(lines)] for question, lines in described(run.spec, folder).items() if lines
        ]
        text = run.spec.description or ""
        return PageSection(text=text, table=(("", ""), rows), figures=[draw(run.spec, folder)])
