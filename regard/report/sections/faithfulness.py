"""Whether the attention tells what the answers depend on, measured on a few rows."""

from __future__ import annotations

from regard.inspect import PageSection
from regard.report.context import Context, ReportedRun
from regard.report.sections.section import Section

ROWS = 24


class FaithfulnessSection(Section):
    title = "Faithfulness of the attention"
    brief = False

    def of_run(self, run: ReportedRun, context: Context) -> PageSection | None:
        return None
