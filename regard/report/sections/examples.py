"""Answers with figures: the strangest, and ordinary ones spread over the rows."""

from __future__ import annotations

from regard.data.contents import is_data
from regard.errors import RegardError
from regard.inspect import Card, PageSection, Scene, figure
from regard.inspect import compare as side_by_side
from regard.inspect.narrowing import with_short_words
from regard.questions import Strange
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection, shown
from regard.trace import Trace
from regard.trace.prediction import Prediction

BRIEF = 6
"""Number of figures of the report that a training writes."""
LARGEST = 150
"""Longest input or output whose attention is drawn; a larger one is a table that nobody reads."""


class ExampleSection(ReportSection):
    title = "Examples"

    def of(self, context: ReportContext) -> PageSection | None:
        if not all(run.answers for run in context.runs):
            return None
        if context.several and _same_rows(context):
            return self._together(context)
        return super().of(context)

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection | None:
        cards = [
            Card(scene, shown(_asked(run, row)), _answer(run, row, answer), _why(run, row))
            for row in _chosen(run)
            if (scene := _drawn((answer := run.prediction(row)).trace)) is not None
        ]
        return PageSection(text=_text(run), figures=cards) if cards else None

    def _together(self, context: ReportContext) -> PageSection | None:
        """The same rows answered by all runs."""
        cards = []
        for row in _chosen(context.first):
            answers = {run.name: run.prediction(row) for run in context.runs}
            scene = _compared(answers)
            if scene is not None:
                told = "; ".join(f"{name}: {shown(answer.text, 60)}" for name, answer in answers.items())
                true = _true(context.first, row)
                cards.append(
                    Card(scene, shown(_asked(context.first, row)), told, f"true: {true}" if true else "")
                )
        return PageSection(self.title, _text(context.first), figures=cards) if cards else None


def _text(run: ReportedRun) -> str:
    first = "" if run.wanted.short else "The strangest first, then rows spread over the data. "
    return first + "The figures show where the model looked."


def _same_rows(context: ReportContext) -> bool:
    """Whether all runs were measured on the same rows."""
    first = context.first
    return all(
        run.split == first.split and run.evaluation.inputs == first.evaluation.inputs for run in context.runs
    )


def _chosen(run: ReportedRun) -> list[int]:
    """The rows to draw: half of them strange, the others spread over the data."""
    count = len(run.dataset)
    if run.wanted.short:
        most = min(BRIEF, run.wanted.figures)
        return list(range(0, count, max(1, count // max(1, most))))[:most]
    most = run.wanted.figures
    strange = [one.row for one in run.strange[: (most + 1) // 2] if one.strangeness > 0]
    rest = max(0, most - len(strange))
    spread = range(0, count, max(1, count // max(1, rest)))
    return list(dict.fromkeys([*strange, *list(spread)[:rest]]))


def _drawn(trace: Trace | None) -> Scene | None:
    """The figure of an answer; None if it looks nowhere, or is too large to read."""
    if trace is None or not (trace.attention or trace.structures or trace.seen or trace.pointed):
        return None
    longest = max(
        [len(trace.output), *(len(trace.input[name]) for name in trace.input if name not in trace.seen)]
    )
    if longest > LARGEST:
        return None
    return figure(with_short_words(trace), title="")


def _compared(answers: dict[str, Prediction]) -> Scene | None:
    traces = [(name, one.trace) for name, one in answers.items() if one.trace is not None]
    if len(traces) < len(answers) or any(_drawn(trace) is None for _, trace in traces):
        return None
    try:
        return side_by_side(traces, across=1)
    except RegardError:  # one of them has no attention there
        return None


def _asked(run: ReportedRun, row: int) -> str:
    values = [run.dataset.text(row, name) for name in run.spec.inputs]
    return " · ".join(shown(value) for value in values if not is_data(value)) or f"row {row + 1}"


def _true(run: ReportedRun, row: int) -> str:
    output = next(iter(run.spec.outputs))
    return shown(" / ".join(run.dataset.references(row, output))) if output in run.dataset.columns else ""


def _answer(run: ReportedRun, row: int, answer: Prediction) -> str:
    text, true = shown(answer.text), _true(run, row)
    return f"✓ {text}" if text == true else f"✗ {text}   (true: {true})" if true else text


def _why(run: ReportedRun, row: int) -> str:
    if run.wanted.short:
        return f"row {row + 1} of {run.split}"
    known: dict[int, Strange] = {one.row: one for one in run.strange}
    reasons = "; ".join(known[row].reasons) if row in known else ""
    return f"row {row + 1} of {run.split}" + (f": {reasons}" if reasons else "")
