"""The table of a matrix: the results of each mechanism, and the mechanisms that do not fit the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from regard.course.matrix.mechanism import MECHANISMS
from regard.course.matrix.task import Task
from regard.evaluation import Evaluation
from regard.metrics import Score, Table, interval_of, lines_by_length, metric
from regard.metrics.metric import RowMetric


@dataclass(frozen=True)
class Figure:
    """A value with the bounds of the middle 95 % of its resamples, and the number of rows."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class MatrixRow:
    """The results of one mechanism.

    lengths     the score by the length of the input: {"3–6": …}, from short to long
    looks       the score of its attention against the truth; None without attention or known truth
    kept        the weights that dev chose
    settings    the changes of the row to the spec of the zoo's system
    """

    mechanism: str
    score: Figure
    lengths: dict[str, Figure]
    looks: Figure | None
    parameters: int
    updates: int
    kept: str
    seconds_per_update: float
    seconds: float
    settings: tuple[str, ...] = ()

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> MatrixRow:
        """Restore a row from the output of `asdict`."""
        looks = data["looks"]
        return cls(
            **{
                **data,
                "score": Figure(**data["score"]),
                "lengths": {label: Figure(**one) for label, one in data["lengths"].items()},
                "looks": None if looks is None else Figure(**looks),
                "settings": tuple(data["settings"]),
            }
        )


@dataclass(frozen=True)
class MatrixTable:
    """The finished rows, in the order of the mechanisms.

    refused   {mechanism: why it does not fit the task}
    failed    {mechanism: why its training ended early}
    waiting   mechanisms that are not finished
    """

    task: Task
    seed: int
    updates: int
    rows: tuple[MatrixRow, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The ranges of lengths, from short to long."""
        labels = {label for row in self.rows for label in row.lengths}
        return tuple(sorted(labels, key=lambda label: int(label.split("–")[0])))

    @property
    def best_is_high(self) -> bool:
        return _row_metric(self.task.metric).higher_is_better

    @property
    def looks_best_is_high(self) -> bool:
        return not self.task.looks or _row_metric(self.task.looks).higher_is_better

    def row(self, name: str) -> MatrixRow | None:
        return next((row for row in self.rows if row.mechanism == name), None)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data, for JSON."""
        about = {mechanism.name: mechanism.what for mechanism in MECHANISMS}
        return {
            "task": self.task.name,
            "system": self.task.system,
            "metric": self.task.metric,
            "looks": self.task.looks or None,
            "unit": self.task.unit,
            "seed": self.seed,
            "updates": self.updates,
            "set": list(self.settings),
            "rows": [{"what": about[row.mechanism], **asdict(row)} for row in self.rows],
            "refused": self.refused,
            "failed": self.failed,
            "waiting": list(self.waiting),
        }


def measured(task: Task, found: Evaluation) -> tuple[Figure, dict[str, Figure], Figure | None]:
    """The score, the score by length, and the score of the attention, each with its interval."""
    lines = found.statistics(task.metric)
    assert lines is not None
    whole = _figure(task.metric, found.scores[task.metric], lines)
    sizes = [task.length(row) for row in found.inputs]
    split = lines_by_length(_row_metric(task.metric), lines, sizes, edges=task.edges)
    lengths = {one.label: _with_bounds(one.value, one.interval, one.n) for one in split.buckets}
    looks = found.lines.get(task.looks)
    return whole, lengths, None if looks is None else _figure(task.looks, found.scores[task.looks], looks)


def _figure(name: str, score: Score, lines: Table) -> Figure:
    sure = interval_of(_row_metric(name), lines)
    return _with_bounds(score.value, (sure.low, sure.high), len(lines))


def _with_bounds(value: float, interval: tuple[float, float], rows: int) -> Figure:
    """A value and its interval; that of a single row is the value alone."""
    low, high = (value if bound != bound else bound for bound in interval)
    return Figure(value, low, high, rows)


def _row_metric(name: str) -> RowMetric:
    found = metric(name.rpartition(".")[2])
    assert isinstance(found, RowMetric)
    return found


def shown(name: str, figure: Figure) -> tuple[str, str]:
    """Format a value and its interval: BLEU unchanged, shares and rates in percent."""
    factor = 1.0 if name.rpartition(".")[2] in HUNDREDS else 100.0
    return f"{factor * figure.value:.1f}", f"{factor * figure.low:.1f}–{factor * figure.high:.1f}"


def title(name: str) -> str:
    """The column header of a metric: `BLEU`, `exact, %`."""
    metric_name = name.rpartition(".")[2]
    known = TITLES.get(metric_name, metric_name.replace("_", " "))
    return known if metric_name in HUNDREDS else f"{known}, %"


HUNDREDS = ("bleu", "chrf", "rouge1", "rouge2", "rougeL")
"""Metrics that already range from 0 to 100."""
TITLES = {
    "bleu": "BLEU",
    "cer": "letter errors",
    "wer": "word errors",
    "exact": "exact",
    "aer": "alignment errors",
    "pointing": "pointing accuracy",
    "valid_conclusions": "valid conclusions",
}


def chosen(rows: Sequence[MatrixRow], high: bool, label: str | None = None) -> MatrixRow:
    """The best of some rows by the score, or by the score of one range of lengths."""

    def value(row: MatrixRow) -> float:
        figure = row.score if label is None else row.lengths[label]
        return figure.value if high else -figure.value

    return max(rows, key=value)
