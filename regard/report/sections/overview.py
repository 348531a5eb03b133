"""The most important numbers of each run."""

from __future__ import annotations

from regard.inspect import PageSection
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection

MOST = 4
"""Maximum number of scores among them."""


class OverviewSection(ReportSection):
    title = "At a glance"

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection:
        facts = {}
        for name, score in list(run.evaluation.scores.items())[:MOST]:
            found = run.interval(name)
            facts[name] = f"{score.value:.4g}"
            if found is not None and found.low == found.low:
                facts[name] += f" ({found.low:.3g} to {found.high:.3g})"
        facts["measured on"] = f"{run.split}: {run.evaluation.measured}"
        facts["parameters"] = f"{sum(one.numel() for one in run.model.network.parameters()):,}"
        training = run.metrics.get("training") or {}
        if training:
            facts["training"] = f"{training.get('steps', 0):,} steps, {_time(training.get('seconds', 0.0))}"
        remarks = [str(remark) for remark in run.evaluation.remarks]
        return PageSection(text="\n\n".join(remarks), facts=facts)


def _time(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"
