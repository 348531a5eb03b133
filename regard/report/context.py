"""What a report knows about a run: its model, evaluation, strangest answers and data, each made on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.data import Dataset
from regard.evaluation import Evaluation, measure, open_dataset, usual_split
from regard.metrics import RowMetric, metric
from regard.metrics.significance import ConfidenceInterval, interval_of
from regard.model import AnyModel, Model
from regard.questions import Strange, strangeness
from regard.report.data import DataSummary, summary_of_datasets, summary_of_spec
from regard.trace.prediction import Prediction

Progress = Callable[[str, int, int], None]
"""Called with what is done, the number of rows that are done, and of all."""
ROWS, FIGURES = 300, 12


@dataclass(frozen=True)
class ReportWishes:
    """How much a report tells.

    rows      number of rows of the split that are searched for strange answers and listed
    figures   number of examples with a figure
    split     the split that is measured; "": test, or dev if the data have no test
    short     only what is known at the end of a training, or made in a moment
    """

    rows: int = ROWS
    figures: int = FIGURES
    split: str = ""
    short: bool = False


class ReportedRun:
    """One run of a report.

    model     the trained model
    name      a short name, different from that of the other runs
    folder    where it is; None if it is only in memory
    """

    def __init__(
        self,
        model: AnyModel,
        name: str,
        wanted: ReportWishes,
        *,
        evaluations: Mapping[str, Evaluation] | None = None,
        datasets: Mapping[str, Dataset] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """evaluations, datasets: by split, if a training has made them."""
        self.model, self.name, self.wanted = model, name, wanted
        self.folder: Path | None = model.folder
        self._evaluations, self._datasets = dict(evaluations or {}), dict(datasets or {})
        self._intervals: dict[str, ConfidenceInterval | None] = {}
        self._progress = progress

    @property
    def spec(self) -> Any:
        return self.model.spec

    @property
    def metrics(self) -> Mapping[str, Any]:
        """What the training wrote about itself: scores, seconds, versions."""
        return self.model.metrics

    @property
    def split(self) -> str:
        """The split that is measured."""
        if self.wanted.split:
            return self.wanted.split
        if self._evaluations:
            return "test" if "test" in self._evaluations else list(self._evaluations)[-1]
        return usual_split(self.spec)[0]

    @cached_property
    def evaluation(self) -> Evaluation:
        """All rows of the split, as `regard evaluate` measures them."""
        if self.split in self._evaluations:
            return self._evaluations[self.split]
        return measure(self.model, splits=[self.split])

    def interval(self, name: str) -> ConfidenceInterval | None:
        """The interval of a score by bootstrap of the rows; None if the metric is no function of sums over rows."""
        if name not in self._intervals:
            self._intervals[name] = self._resampled(name)
        return self._intervals[name]

    def _resampled(self, name: str) -> ConfidenceInterval | None:
        lines, measured = self.evaluation.statistics(name), metric(name.rpartition(".")[2])
        if lines is None or not len(lines) or not isinstance(measured, RowMetric):
            return None
        return interval_of(measured, lines)

    @cached_property
    def dataset(self) -> Dataset:
        """The encoded rows of the split."""
        if self.split not in self._datasets:
            self._datasets[self.split] = open_dataset(self.model, (), [self.split])
        return self._datasets[self.split]

    @property
    def answers(self) -> bool:
        """Whether the model answers inputs, and does not continue a text."""
        return not self.model.continues

    @cached_property
    def strange(self) -> list[Strange]:
        """The first rows of the split, the strangest first; of the first output."""
        output = next(iter(self.spec.outputs))
        return strangeness(
            self.model,
            self.dataset,
            output=output,
            most=self.wanted.rows,
            progress=self.told("strange answers"),
        )

    def prediction(self, row: int) -> Prediction:
        """The answer to a row of the split, with its trace."""
        assert isinstance(self.model, Model)
        output = next(iter(self.spec.outputs))
        (answer,) = self.model.answer(self.dataset.batch([row]), output=output)
        return answer

    @cached_property
    def data(self) -> DataSummary:
        """The rows of all splits."""
        if self._evaluations:
            return summary_of_datasets(self.model, self._datasets)
        return summary_of_spec(self.model, self.told("data"))

    def told(self, what: str) -> Callable[[int, int], None] | None:
        """What a long question calls with its progress."""
        progress = self._progress
        return None if progress is None else lambda done, of: progress(f"{self.name}: {what}", done, of)


@dataclass(frozen=True)
class ReportContext:
    """All runs of a report, and how much it tells about them."""

    runs: Sequence[ReportedRun]
    wanted: ReportWishes = field(default_factory=ReportWishes)

    @property
    def first(self) -> ReportedRun:
        return self.runs[0]

    @property
    def several(self) -> bool:
        return len(self.runs) > 1
