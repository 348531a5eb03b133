"""A metric: a part that measures a model on rows.

    @register("metric", "absolute_error")
    class AbsoluteError(OutputMetric):
        higher_is_better = False
        suits = ("number",)

There are two interfaces. Every `Metric` measures an `Inference`: the outputs of a model, its likelihood, its attention.
A metric of outputs alone is an `OutputMetric`, a function of sums over the rows of a corpus:

    value = f(Σ_rows statistics(row))

BLEU has this form (its n-gram counts add up), and so have error rates (edits and lengths add up) and shares. On any
part of a corpus, by length or resampled, such a metric costs one sum and no new comparison of outputs.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.data import Batch
from regard.data.columns import Column
from regard.errors import RegardError, Words
from regard.parts import Options as PartOptions
from regard.parts import nearest
from regard.parts.contract import base, optional, required
from regard.parts.registry import names, part
from regard.trace import Trace
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.nn.memory import Memory

Table = NDArray[np.float64]
"""(rows, numbers): what a metric counts in each row."""
References = Sequence[Sequence[Any]]
"""One or more references for each row; their number may vary."""
Found = TypeVar("Found")


@dataclass(frozen=True)
class Score:
    """A measured value, with everything needed to measure it again.

    name        "bleu", "per", …
    value       BLEU, chrF and ROUGE from 0 to 100, everything else a share or a rate: 0.12 is 12 %
    n           number of rows
    signature   how it was computed, in one line that another implementation can follow
    """

    name: str
    value: float
    n: int
    signature: str = ""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.name} {self.value:.4g}"


@base("metric", gives=(), maker="named")
class Metric(ABC):
    """Base class of metrics.

    higher_is_better   the direction of the metric, defined only here
    suits              types of output columns that it supports; empty: all
    ensembles          whether it can be measured for an ensemble
    family             a regular expression of the names of a family, such as top[1-9][0-9]*; empty: it has one name
    baseline_name      what `baseline` is: "chance level" for random answers, "majority baseline" for the most frequent
                       one
    """

    class Options(PartOptions):
        """A metric has no options; a spec refers to it by name."""

    higher_is_better: ClassVar[bool] = True
    suits: ClassVar[tuple[str, ...]] = ()
    ensembles: ClassVar[bool] = True
    family: ClassVar[str] = ""
    baseline_name: ClassVar[str] = "baseline"

    @property
    def name(self) -> str:
        return self.Options.type

    @classmethod
    @optional("when a spec is read, for a family of metrics")
    def named(cls, name: str) -> Metric | None:
        """The metric that a spec calls `name`. A family such as top1, top2, … declares its names in `family`, and
        overrides this method and `members`."""
        return cls() if name == cls.Options.type else None

    @classmethod
    def has_name(cls, name: str) -> bool:
        """Whether a spec can call it by this name, or one of its family."""
        return re.fullmatch(cls.family, name) is not None if cls.family else name == cls.Options.type

    @classmethod
    @optional("to suggest names")
    def members(cls) -> tuple[str, ...]:
        """The names to suggest."""
        return (cls.Options.type,)

    @optional("before `measure`")
    def refuses(self, output: OutputInfo) -> str | None:
        """Why it cannot be computed for an output, as a sentence without its period; None if it can."""
        kind, types = output.column.type, output.column.types()
        if not self.suits or not set(self.suits).isdisjoint(types) or self.name in output.column.usual:
            return None
        return (
            f"{self.name} is for outputs of type {' or '.join(self.suits)}; {output.name!r} is of type {kind}"
        )

    @abstractmethod
    @required("once for each evaluation")
    def measure(self, inference: Inference) -> Score | None:
        """The metric on the rows of an inference; None if they lack something it needs."""

    @optional("once for each evaluation")
    def baseline(self, inference: Inference) -> Score | None:
        """Its chance level, or another value reached without the model, if there is one."""
        return None


class RowMetric(Metric):
    """A metric that is a function of sums over rows, so that a subset or a resample costs one sum."""

    @abstractmethod
    @required("by `measure`, for scores by length and intervals")
    def lines(self, inference: Inference) -> Table | None:
        """(n, k): a line of numbers for each row that can be measured; None if there are none."""

    @optional("on the sum of the lines of some rows")
    def value(self, sums: Table) -> float:
        """(k,) the sum of some of these lines → the metric on these rows; default: sums[0] / sums[1]."""
        if len(sums) != 2:
            raise RegardError(
                f"the metric {self.name} has lines of {len(sums)} numbers, and its method value divides two.",
                fix="Write the method value(sums), or return lines of two numbers.",
            )
        return ratio(sums)

    def checked_value(self, sums: Table) -> float:
        """`value`, refused if it is no number."""
        found: Any = self.value(sums)
        if isinstance(found, str) or np.ndim(found) or not hasattr(found, "__float__"):
            raise RegardError(
                f"the metric {self.name}: value returned {type(found).__name__}, expected a number.",
                fix="Write the method value(sums) so that it returns a float.",
            )
        return float(found)


class OutputMetric(RowMetric):
    """A metric that compares outputs with references.

    Both are values of the output column: a text, a class, a list of tags, a number.
    """

    @abstractmethod
    @required("by `measure`")
    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, k): a line of numbers for each row."""

    def lines(self, inference: Inference) -> Table:
        return self._table([answer.value for answer in inference.predictions], inference.references)

    def _table(self, predictions: Sequence[Any], references: References) -> Table:
        """`statistics`, refused if they are not a line for each row."""
        found = self.statistics(predictions, references)
        shape = np.shape(found)
        if len(shape) != 2 or shape[0] != len(predictions):
            raise RegardError(
                f"the metric {self.name}: statistics returned an array of shape {shape}, expected "
                f"({len(predictions)}, k), a line of numbers for each row."
            )
        return found

    @abstractmethod
    @required("by `measure`")
    def describe(self, count: str) -> str:
        """The signature; `count` is the number of references per row ("1", "3", or "var" if it varies)."""

    def measure(self, inference: Inference) -> Score | None:
        return self([answer.value for answer in inference.predictions], inference.references)

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> Score:
        """The metric on rows given in Python; a row has one reference, or a list of several."""
        several = as_references(predictions, references)
        counts = {len(row) for row in several}
        signature = self.describe(str(counts.pop()) if len(counts) == 1 else "var")
        value = self.checked_value(self._table(predictions, several).sum(axis=0))
        return Score(self.name, value, len(predictions), signature)

    def rows(self, predictions: Sequence[Any], references: Sequence[Any]) -> list[float]:
        """The metric on each single row."""
        return [
            self.checked_value(line)
            for line in self._table(predictions, as_references(predictions, references))
        ]


def as_references(predictions: Sequence[Any], references: Sequence[Any]) -> References:
    """A list of references per prediction; a value that is not a list (a text, a number) becomes a list of one."""
    if isinstance(predictions, str) or len(predictions) != len(references):
        counts = f"{len(predictions)} predictions and {len(references)} rows of references"
        raise RegardError(f"expected as many rows of references as predictions, received {counts}.")
    if not len(predictions):
        raise RegardError("there is nothing to measure: no predictions.")
    several = [list(row) if isinstance(row, list | tuple) else [row] for row in references]
    for number, row in enumerate(several):
        if not row:
            raise RegardError("this row has no reference.", where=f"row {number + 1}")
    return several


def ratio(sums: Table) -> float:
    """sums[0] / sums[1], the value of a share or a rate; 0 / 0 is 0, anything else / 0 infinite."""
    part, whole = float(sums[0]), float(sums[1])
    if whole == 0.0:
        return 0.0 if part == 0.0 else float("inf")
    return part / whole


def pieces(value: str | Sequence[str]) -> list[str]:
    """The words, tags or arcs of a value, which is a list or a text separated by spaces."""
    return value.split() if isinstance(value, str) else list(value)


@dataclass(frozen=True)
class OutputInfo:
    """An output and its context.

    columns    the columns of the model, or of the rows if there are any
    inputs     names of the columns that encoders read
    outputs    names of all outputs
    truth      {input: column that says where this output should attend}
    attended   inputs that its decoder attends to
    """

    name: str
    columns: Mapping[str, Column]
    inputs: Sequence[str]
    outputs: Sequence[str]
    truth: Mapping[str, str]
    attended: Sequence[str]

    @property
    def column(self) -> Column:
        return self.columns[self.name]

    def known(self, kind: str, *, attended: bool = False) -> dict[str, str]:
        """{input: truth column} for columns of this type; with `attended`, only for attended inputs."""
        return {
            name: column
            for name, column in self.truth.items()
            if column in self.columns
            and self.columns[column].can_be(kind)
            and (name in self.attended or not attended)
        }


class Inference(Protocol):
    """A model or an ensemble, applied to rows; everything is computed on demand."""

    @property
    def output(self) -> OutputInfo:
        """The output to measure, with the columns of the rows."""

    def __len__(self) -> int:
        """Number of rows."""

    def raw(self, row: int) -> Mapping[str, str]:
        """Column → text, as written in the data."""

    @property
    def predictions(self) -> Sequence[Prediction]:
        """The predictions of the model, one per row, without traces."""

    @property
    def references(self) -> list[list[Any]]:
        """The true values of each row, one or more, in the form of `Prediction.value`."""

    def likelihood(self) -> tuple[float, float]:
        """The summed −log p of the true outputs (natural logarithm), and the number of items."""

    def traces(self, *, structures: bool = False) -> Iterator[tuple[int, Trace]]:
        """Each row with its trace. For decoders that generate step by step, the trace is of the true output; for
        others, of the prediction.

        structures   include joint selections and copy probabilities, which takes another pass of decoding
        """

    def memories(self) -> Iterator[tuple[Batch, Mapping[str, Memory]]]:
        """Batches of all rows, and their encodings."""

    def shape(self, name: str) -> tuple[int, ...] | None:
        """(rows, columns) of the grid of an input's positions, if they form one."""

    def once(self, make: Callable[[Inference], Found]) -> Found:
        """`make` of this inference, computed once for all metrics that request it."""

    def dev(self) -> Inference | None:
        """The same model on the rows of dev, to choose thresholds; None if these are the rows of dev."""


def metric(name: str) -> Metric:
    """The metric `bleu`, `top5`, …; an unknown name raises an error with the nearest one."""
    found = find_metric(name)
    if found is None:
        raise unknown_metrics([name])
    return found


def output_metric(name: str) -> OutputMetric:
    """A metric of outputs, called with predictions and references: `output_metric("per")(answers, truth)`."""
    found = metric(name)
    if not isinstance(found, OutputMetric):
        raise RegardError(
            f"{name} cannot be computed from the outputs alone.",
            fix="Evaluate a model: model.evaluate(metrics=…).",
        )
    return found


def find_metric(name: str) -> Metric | None:
    """The metric that a spec calls by this name, such as `bleu` or `group_accuracy`; None if there is none."""
    kinds: list[type[Metric]] = [part("metric", known) for known in names("metric")]
    return next((kind.named(name) for kind in kinds if kind.has_name(name)), None)


def metric_names() -> list[str]:
    """The names of all metrics, including the members of families that are worth suggesting."""
    return [member for known in names("metric") for member in part("metric", known).members()]


def unknown_metrics(wrong: Sequence[str], *, where: Words = "") -> RegardError:
    """An error that lists all unknown names, each with the nearest metric."""
    if len(wrong) == 1:
        return RegardError(f"there is no metric {wrong[0]!r}.", where=where, fix=_instead(wrong[0]))
    told = " ".join(f"{name!r}: {_instead(name)}" for name in wrong)
    return RegardError(f"there are no metrics {', '.join(map(repr, wrong))}.", where=where, fix=told)


def _instead(name: str) -> str:
    return nearest(name, metric_names())
