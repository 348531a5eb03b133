"""The answers to the rows, the strangest first, with the reasons."""

from __future__ import annotations

from dataclasses import replace

from regard.data.contents import is_data
from regard.inspect import PageSection
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection, shown

SEVERAL = 150
"""Maximum number of rows of each of several runs that are listed."""


class StrangestSection(ReportSection):
    title = "Answers, the strangest first"
    brief = False

    def of(self, context: ReportContext) -> PageSection | None:
        """Tables are too wide to stand side by side."""
        found = super().of(context)
        return found if found is None or not found.beside else replace(found, beside=(), below=found.beside)

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection | None:
        if not run.answers:
            return None
        found = run.strange[: SEVERAL if context.several else None]
        known = any(one.references for one in run.strange)
        inputs = [
            name for name in run.spec.inputs if not all(is_data(one.inputs.get(name, "")) for one in found)
        ]
        rows: list[list[object]] = []
        for one in found:
            given = [shown(one.inputs.get(name, "")) for name in inputs]
            true = [shown(" / ".join(one.references)), _sign(one.right)] if known else []
            strange = "; ".join(one.reasons)
            rows.append(
                [one.row + 1, *given, shown(one.prediction.text), *true, round(one.strangeness, 1), strange]
            )
        output = next(iter(run.spec.outputs))
        head = [
            "row",
            *inputs,
            f"{output}, answered",
            *([f"{output}, true", "right"] if known else []),
            "strangeness",
            "why",
        ]
        count = sum(one.strangeness > 0 for one in run.strange)
        text = (
            f"{count:,} of the first {len(run.strange):,} rows of {run.split} are strange: far from what is usual in "
            "these rows. Strangeness is the sum of the distances, in widths of the middle of the rows."
        )
        return PageSection(text=text, table=(head, rows), sortable=True)


def _sign(right: bool | None) -> str:
    return "" if right is None else "✓" if right else "✗"
