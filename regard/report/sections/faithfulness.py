"""Whether the attention tells what the answers depend on, measured on a few rows."""

from __future__ import annotations

from regard.errors import RegardError
from regard.inspect import PageSection
from regard.model import Model
from regard.questions.faithfulness import Faithfulness, faithful
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection

ROWS = 24
LONGEST = 60
"""Longest input, in positions, that is examined: every position is removed once."""


class FaithfulnessSection(ReportSection):
    title = "Faithfulness of the attention"
    brief = False

    def of(self, context: ReportContext) -> PageSection | None:
        found = {run.name: one for run in context.runs if (one := _measured(run)) is not None}
        if not found:
            return None
        several = context.several
        rows = [
            [
                *([name] if several else []),
                line.measure,
                str(line.value),
                str(line.random or ""),
                line.verdict,
            ]
            for name, one in found.items()
            for line in one.table
        ]
        counted = "; ".join(
            f"{f'{name}: ' if several else ''}{len(one.pieces):,} pieces of {one.rows - one.skipped} answers"
            for name, one in found.items()
        )
        text = (
            f"Does the answer change if what was attended to is removed? {counted}, with 95 % intervals, beside random "
            "orders of the same positions. `regard faithful` measures more."
        )
        head = [*(["run"] if several else []), "measure", "attention", "random", "against random"]
        first, *others = found.values()
        return PageSection(self.title, text, figures=[first.plot(*others)], table=(head, rows))


def _measured(run: ReportedRun) -> Faithfulness | None:
    """On the first short rows; None if the model has no attention to examine."""
    if not isinstance(run.model, Model):
        return None
    names = list(run.spec.inputs)
    columns = run.dataset.columns
    sized = [name for name in names if columns[name].cached and not columns[name].scalar]
    lengths = [run.dataset.lengths(name) for name in sized]
    short = [row for row in range(len(run.dataset)) if all(one[row] <= LONGEST for one in lengths)][:ROWS]
    inputs = [{name: run.dataset.text(row, name) for name in names} for row in short]
    try:
        return faithful(
            run.model,
            inputs,
            output=next(iter(run.spec.outputs)),
            quick=True,
            name=run.name,
            progress=run.told("faithfulness"),
        )
    except RegardError:  # no attention, or inputs of one position
        return None
