"""The first metric that can be split, by the length of the input."""

from __future__ import annotations

from regard.inspect import PageSection, lengths_figure
from regard.report.context import ReportContext
from regard.report.sections.section import ReportSection


class LengthSection(ReportSection):
    title = "Scores by length"
    brief = False

    def of(self, context: ReportContext) -> PageSection | None:
        found = {}
        for run in context.runs:
            name = next(iter(run.evaluation.of_outputs()), None)
            if name is not None and len(set(run.evaluation.lengths)) > 1:
                found[run.name] = run.evaluation.by_length(name)
        if not found:
            return None
        measured = context.first.evaluation.measured_length()
        if len({one.metric for one in found.values()}) > 1:
            found = dict(list(found.items())[:1])
        metric = next(iter(found.values())).metric
        text = f"{metric} by the number of units of {measured}. Thin lines: 95 % of resamples."
        return PageSection(self.title, text, figures=[lengths_figure(found, measured, title="")])
