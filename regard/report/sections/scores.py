"""All scores with their intervals and how they are computed; several runs are compared by paired bootstrap."""

from __future__ import annotations

from regard.errors import RegardError
from regard.evaluation import comparisons
from regard.inspect import PageSection
from regard.metrics.significance import bounds
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection, filled


class ScoreSection(ReportSection):
    title = "Scores"

    def of(self, context: ReportContext) -> PageSection:
        several, rows = context.several, []
        names = list(dict.fromkeys(name for run in context.runs for name in run.evaluation.scores))
        for name in names:
            for run in context.runs:
                if name in run.evaluation.scores:
                    told = _line(run, name)
                    rows.append([name, *([run.name] if several else []), *told])
        head = [
            "metric",
            *(["run"] if several else []),
            "value",
            "95 %",
            "n",
            "baseline",
            "how it is computed",
        ]
        text = f"Measured on {' and '.join(dict.fromkeys(run.split for run in context.runs))}. "
        text += "95 %: of 1,000 resamples of the rows (bootstrap)."
        parts = [_compared(context)] if several else []
        return PageSection(self.title, text, table=filled(head, rows), below=parts)


def _line(run: ReportedRun, name: str) -> list[object]:
    score, found = run.evaluation.scores[name], run.interval(name)
    baseline = run.evaluation.beside(name).strip(" ()")
    between = "" if found is None else bounds(found.low, found.high, " to ")
    return [f"{score.value:.4f}", between, score.n, baseline, _in_words(score.signature)]


def _in_words(signature: str) -> str:
    """How a score is computed, without the signs between its parts; one reference is not told."""
    parts = [one for one in signature.split("|") if one != "refs:1"]
    return ", ".join(
        "several references" if one == "refs:var" else one.replace("refs:", "references: ") for one in parts
    )


def _compared(context: ReportContext) -> PageSection:
    """Each later run against the first, or why they cannot be compared."""
    first, *others = context.runs
    rows, reasons = [], []
    for other in others:
        try:
            for name, _, _, found in comparisons(
                {first.name: first.evaluation, other.name: other.evaluation}
            ):
                low, high = found.difference.low, found.difference.high
                between = "one row, no interval" if low != low else f"{low:+.4g} to {high:+.4g}"
                rows.append(
                    [
                        name,
                        other.name,
                        f"{found.difference.value:+.4g}",
                        between,
                        f"{found.p_value:.3f}",
                        f"{found.wins:.0%}",
                    ]
                )
        except RegardError as error:
            reasons.append(f"{other.name} is not compared: {error.what}")
    text = (
        [f"Difference from {first.name}, on the same resamples of the same rows. p: two-sided."]
        if rows
        else []
    )
    head = ("metric", "run", "difference", "95 %", "p", "better in")
    return PageSection(
        "Paired bootstrap", "\n\n".join([*text, *reasons]), table=(head, rows) if rows else None
    )
