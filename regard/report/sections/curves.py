"""Learning curves: loss and metrics by step; several runs over each other."""

from __future__ import annotations

from regard.errors import RegardError
from regard.inspect import PageSection, Scene
from regard.inspect.curve import curve, curves_of, read_log
from regard.report.context import ReportContext
from regard.report.sections.section import ReportSection


class CurveSection(ReportSection):
    title = "Learning curves"

    def of(self, context: ReportContext) -> PageSection | None:
        logs = {}
        for run in context.runs:
            try:
                found = read_log(run.folder) if run.folder is not None else {}
            except RegardError:
                found = {}
            if len(found.get("step", ())) > 1:
                logs[run.name] = found
        if not logs:
            return None
        scene: Scene = curves_of(logs) if context.several else curve(next(iter(logs.values())))
        kept = [
            f"{run.name if context.several else 'The run'} kept {training['kept']}; it was ended by "
            f"{training['stopped_because']}."
            for run in context.runs
            if (training := run.metrics.get("training") or {}).get("stopped_because")
        ]
        return PageSection(self.title, " ".join(kept), figures=[scene])
