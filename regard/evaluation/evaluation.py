"""Evaluation: the scores of a model on one set of rows, with its answers, and the same by length or group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.data.readers.row import readable
from regard.errors import Message, Option, RegardError, Words
from regard.metrics import (
    ByGroup,
    ByLength,
    Classification,
    OutputMetric,
    Score,
    Table,
    by_group,
    by_length,
    by_place,
    metric,
)
from regard.parts import nearest

MOST_LABELS = 24
"""Labels of a confusion matrix that is still readable."""
PLACE = "place"
"""Group by the place in the answer, not by a column."""


@dataclass(repr=False)
class Evaluation:
    """The results of one model on one set of rows.

    scores        by name; `output.metric` if there are several outputs
    predictions   for each output, one text per row
    references    for each output, one or more texts per row
    values        for each output, the values that metrics compare: the predicted ones, and the true ones of
                  each row
    inputs        each row as written in the data: the text of every column, outputs and truth too
    fields        {input of the model: the field of the rows that it reads}
    lengths       of the inputs in units; the longest if there are several inputs
    lengths_of    {input: its lengths}
    labels        for each label output, the confusion matrix and its statistics
    chance        for some scores, the chance level or another baseline
    split         the evaluated split; "" for files
    pieces        for each text output, the function that cuts a text into units
    remarks       notes about the rows: labels that were not in the training data, data that have changed
    tokens        of a running text, which has no rows; 0 if there are rows
    lines         the statistics of the rows, for metrics that need more than outputs and references
    """

    scores: dict[str, Score] = field(default_factory=dict)
    predictions: dict[str, list[str]] = field(default_factory=dict)
    references: dict[str, list[list[str]]] = field(default_factory=dict)
    values: dict[str, tuple[list[Any], list[list[Any]]]] = field(default_factory=dict)
    inputs: list[dict[str, str]] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    lengths_of: dict[str, list[int]] = field(default_factory=dict)
    labels: dict[str, Classification] = field(default_factory=dict)
    chance: dict[str, Score] = field(default_factory=dict)
    split: str = ""
    remarks: list[Words] = field(default_factory=list)
    tokens: int = 0
    pieces: dict[str, Callable[[str], list[str]]] = field(default_factory=dict)
    lines: dict[str, Table] = field(default_factory=dict)

    @property
    def measured(self) -> str:
        """The size of the data: "100 rows"."""
        return f"{self.tokens:,} tokens" if self.tokens else f"{len(self.inputs):,} rows"

    def __repr__(self) -> str:
        lines = [f"Evaluation of {self.measured}"]
        for name, score in self.scores.items():
            lines.append(f"  {name} {score.value:.4g}{self.beside(name, '   ')}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The notebook view: the scores with their baselines, and the confusion of labels."""
        from regard.inspect import confusion, notebook_table, notebook_title

        rows = [
            [name, score.value, self.beside(name).strip(" ()"), score.n, score.signature]
            for name, score in self.scores.items()
        ]
        parts = [
            notebook_title("Evaluation", f"{self.split}: {self.measured}".removeprefix(": ")),
            notebook_table(("metric", "value", "baseline", "n", "how it is computed"), rows),
        ]
        for output, found in self.labels.items():
            if 1 < len(found.labels) <= MOST_LABELS:
                title = output if len(self.labels) > 1 else ""
                parts.append(
                    confusion(found.confusion.astype(float), found.labels, title=title)._repr_html_()
                )
        return "".join(parts)

    def beside(self, name: str, before: str = " ") -> str:
        """The baseline of a score, by what it is: ` (majority baseline 0.52)`; empty if it has none."""
        if name not in self.chance:
            return ""
        return f"{before}({metric(name.rpartition('.')[2]).baseline_name} {self.chance[name].value:.4g})"

    def of_outputs(self) -> dict[str, tuple[str, OutputMetric]]:
        """{name of a score: its output and its metric} for the metrics that compare only outputs."""
        found = {}
        for name in self.scores:
            output, _, wanted = name.rpartition(".")
            measured = metric(wanted)
            if isinstance(measured, OutputMetric):
                found[name] = (output or next(iter(self.predictions)), measured)
        return found

    def statistics(self, name: str) -> Table | None:
        """(n, k) statistics of the rows, whose sum gives the score (`RowMetric`); None if there are none."""
        if name in self.lines or name not in self.of_outputs():
            return self.lines.get(name)
        output, measured = self.of_outputs()[name]
        return measured.statistics(*self.values[output])

    def by_length(self, name: str, *, edges: Sequence[int] | None = None, of: str | None = None) -> ByLength:
        """A metric of outputs, grouped by the length of the input `of`; default: the longest input of each row."""
        if of is not None and of not in self.lengths_of:
            raise RegardError(
                f"no input is named {of!r}.",
                where=Option("length_of"),
                fix=f"{nearest(of, list(self.lengths_of))} The inputs are {', '.join(self.lengths_of)}.".strip(),
            )
        if name not in self.of_outputs():
            raise RegardError(
                f"{name!r} cannot be split by the length of the input.",
                fix=f"These can: {', '.join(self.of_outputs()) or 'none of the computed metrics'}.",
            )
        output, measured = self.of_outputs()[name]
        lengths = self.lengths if of is None else self.lengths_of[of]
        return by_length(measured, *self.values[output], lengths, edges=edges)

    def measured_length(self, of: str | None = None) -> str:
        """What `by_length` measures: "the input source", "the longest of the inputs a and b"."""
        names = list(self.lengths_of)
        if of is not None or len(names) == 1:
            return f"the input {of or names[0]}"
        return f"the longest of the inputs {', '.join(names[:-1])} and {names[-1]}" if names else "the input"

    def by(self, names: Sequence[str], name: str | None = None) -> ByGroup:
        """A metric of outputs, grouped by one or two columns of the rows; default: the first metric.

        names   of columns; `place`: the share of correct units by their place in the answer of a text, from
                its end
        """
        check_by(names, [*(self.inputs[0] if self.inputs else ()), *([PLACE] if self.pieces else [])])
        fields = [field for field in names if field != PLACE]
        groups = [tuple(row[field].strip() for field in fields) for row in self.inputs]
        if PLACE in names:
            output, cut = next(iter(self.pieces.items()))
            written, true = self.values[output]
            units = [cut(text) for text in written], [cut(texts[0]) for texts in true]
            return by_place(*units, groups, fields, place=list(names).index(PLACE))
        known = self.of_outputs()
        chosen = next(iter(known), "") if name is None else name
        if chosen not in known:
            raise RegardError(
                f"{chosen!r} cannot be split by groups of rows."
                if chosen
                else "none of the computed metrics can be split by groups of rows.",
                fix=f"These can: {', '.join(known)}."
                if known
                else Message("Add one: ", Option("metric", "exact")),
            )
        output, measured = known[chosen]
        return by_group(measured, *self.values[output], groups, fields)

    def examples(self, count: int, inputs: Sequence[str]) -> list[dict[str, Any]]:
        """Some inputs, spread over the rows, with prediction and reference of the first output."""
        if not self.predictions or not self.inputs:
            return []
        output, written = next(iter(self.predictions.items()))
        places = range(0, len(written), max(1, len(written) // count))
        found = []
        for row in list(places)[:count]:
            true = self.references[output][row]
            values = (self.inputs[row].get(name, "") for name in inputs)
            given = " · ".join(readable(value) for value in values if not value.startswith("data:"))
            found.append(
                {
                    "input": given,
                    "written": written[row],
                    "true": " / ".join(map(readable, true)),
                    "right": written[row] in true,
                }
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """The scores, for JSON."""
        return {
            name: {
                "value": score.value,
                "n": score.n,
                "signature": score.signature,
                **(
                    {
                        "chance": self.chance[name].value,
                        "baseline": f"{metric(name.rpartition('.')[2]).baseline_name}: {self.chance[name].signature}",
                    }
                    if name in self.chance
                    else {}
                ),
            }
            for name, score in self.scores.items()
        }


def check_by(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names that are not one or two of the known columns."""
    if len(names) not in (1, 2) or len(set(names)) < len(names):
        raise RegardError(
            f"received {', '.join(names) or 'nothing'}, expected one column or two.", where=Option("by")
        )
    for one in names:
        if one not in known:
            raise RegardError(
                f"the rows have no column {one!r}.",
                where=Option("by"),
                fix=f"{nearest(one, known)} To group by another field of the data, add  "
                f"truth: {{{one}: {{type: group}}}}.".strip(),
            )
