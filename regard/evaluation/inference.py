"""A model applied to rows: the values that metrics of one output need, computed once or on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import torch

from regard.data import Batch, Batches, Dataset
from regard.data.batch import in_order
from regard.data.columns import Column
from regard.errors import RegardError
from regard.evaluation.sharing import ALONE, Sharing
from regard.metrics import OutputInfo
from regard.nn.memory import Memory
from regard.reporting.terminal import tell
from regard.trace import Trace
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.model import AnyModel, Model

Found = TypeVar("Found")
Ensemble: TypeAlias = "Sequence[tuple[Model, Dataset]]"
"""The additional models of an ensemble."""
Asked: TypeAlias = "tuple[Batch, list[tuple[Model, Batch]]]"
"""A batch, and its rows for each additional model."""
EVALUATE_COST = 8000


def output_info(model: AnyModel, output: str, columns: Mapping[str, Column] | None = None) -> OutputInfo:
    """An output of a model as metrics see it; `columns` are those of the rows, default: all of the model."""
    decoder: Any = model.network.decoders[output]
    return OutputInfo(
        name=output,
        columns=model.columns if columns is None else columns,
        inputs=list(model.network.readers),
        outputs=list(model.spec.outputs),
        truth=model.network.truths[output],
        attended=decoder.attended,
    )


class ModelInference:
    """One model, or an ensemble, on the rows of a data set; see `regard.metrics.Inference`.

    ensemble   additional models of the ensemble, each with the same rows in its own encoding
    dev        opens other rows in a model's encoding, on which thresholds are chosen
    sharing    the processes that divide the batches among them
    """

    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        output: str,
        *,
        ensemble: Ensemble = (),
        dev: Callable[[AnyModel], Dataset] | None = None,
        sharing: Sharing = ALONE,
    ) -> None:
        self.model, self.dataset, self.ensemble, self.sharing = model, dataset, ensemble, sharing
        self.output = output_info(model, output, dataset.columns)
        self._open_dev = dev
        self._made: dict[Any, Any] = {}

    def _results(self, items: Iterable[Any], make: Callable[[Any], Found]) -> Iterator[Found]:
        """`make` of each item, in order; several processes divide the items among them."""
        return map(make, items) if self.sharing.count == 1 else self.sharing.results(items, make)

    def __len__(self) -> int:
        return len(self.dataset)

    def raw(self, row: int) -> dict[str, str]:
        return self.dataset.raw(row)

    @cached_property
    def predictions(self) -> list[Prediction]:
        def answered(given: Asked) -> tuple[Any, list[Prediction]]:
            batch, beside = given
            return batch.rows, self.model.answer(batch, output=self.output.name, trace=False, ensemble=beside)

        return in_order(self._results(batches(self.dataset, self.ensemble), answered))

    @property
    def predicted(self) -> bool:
        """Whether a metric has requested the predictions."""
        return "predictions" in self.__dict__

    @cached_property
    def references(self) -> list[list[Any]]:
        return reference_values(self.dataset, self.output.name)

    def likelihood(self) -> tuple[float, float]:
        if not self.ensemble:
            found = self._results(watched(self.dataset), self._losses)
            return added(losses[self.output.name] for losses in found)

        def scored(given: Asked) -> list[tuple[float, float]]:
            batch, beside = given
            answers = self.model.score_batch(batch, self.output.name, ensemble=beside)
            return [
                (-answer.score, len(answer.trace.output)) for answer in answers if answer.trace is not None
            ]

        return added(
            one for several in self._results(batches(self.dataset, self.ensemble), scored) for one in several
        )

    def _losses(self, batch: Batch) -> dict[str, tuple[float, float]]:
        return self.model.losses(iter([batch]))

    def traces(self, *, structures: bool = False) -> Iterator[tuple[int, Trace]]:
        output = self.output.name
        given = self.model.network.decoders[output].traces_given

        def traced(asked: Asked) -> list[tuple[int, Trace]]:
            batch, beside = asked
            if given:
                answers = self.model.score_batch(batch, output, ensemble=beside, structures=structures)
            else:
                answers = self.model.answer(batch, output=output, ensemble=beside)
            pairs = zip(batch.rows, answers, strict=True)
            return [(row, answer.trace) for row, answer in pairs if answer.trace is not None]

        for several in self._results(batches(self.dataset, self.ensemble), traced):
            yield from several

    def memories(self) -> Iterator[tuple[Batch, Mapping[str, Memory]]]:
        for batch in watched(self.dataset):
            there = batch.to(self.model.device)
            with torch.inference_mode():
                memories = self.model.network.encode(there)
            yield there, memories

    def shape(self, name: str) -> tuple[int, ...] | None:
        grid: tuple[int, ...] | None = getattr(self.model.network.reader(name), "grid", None)
        return grid

    def once(self, make: Callable[[Any], Found]) -> Found:
        if make not in self._made:
            self._made[make] = make(self)
        found: Found = self._made[make]
        return found

    def dev(self) -> ModelInference | None:
        return None if self._open_dev is None else self.once(_on_dev)


def _on_dev(inference: ModelInference) -> ModelInference:
    opened = inference._open_dev
    assert opened is not None
    others = [(other, opened(other)) for other, _ in inference.ensemble]
    return ModelInference(
        inference.model,
        opened(inference.model),
        inference.output.name,
        ensemble=others,
        sharing=inference.sharing,
    )


def added(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The sums of totals and of counts."""
    total, count = 0.0, 0.0
    for one, items in pairs:
        total, count = total + one, count + items
    return total, count


def references(dataset: Dataset, output: str) -> list[list[str]]:
    """The true outputs of each row as texts, in the written form of the column."""
    column = dataset.columns[output]
    found = []
    for row, values in enumerate(reference_values(dataset, output)):
        pieces: list[str] = []
        if column.shows_pieces:
            pieces = dataset.columns[column.of[0]].tokens(dataset.raw(row)[column.of[0]])
        found.append([column.shown(value, pieces) for value in values])
    return found


def reference_values(dataset: Dataset, output: str) -> list[list[Any]]:
    """The true outputs of each row, in the form of `Prediction.value`."""
    column = dataset.columns[output]
    found = []
    for row in range(len(dataset)):
        values: list[Any] = []
        for text in dataset.references(row, output):
            value = column.reference(text)
            if value not in values:
                values.append(value)
        found.append(values)
    return found


def batches(dataset: Dataset, ensemble: Ensemble = ()) -> Iterator[tuple[Batch, list[tuple[Model, Batch]]]]:
    """Batches of a model's rows, and the same rows for each of the other models."""
    for _, data in ensemble:
        if len(data) != len(dataset):
            raise RegardError(
                f"the models of an ensemble must accept the same rows; one accepts {len(dataset):,}, another "
                f"{len(data):,}.",
                fix="Train the members on the same data with different seeds.",
            )
    for batch in watched(dataset):
        yield batch, [(other, data.batch(batch.rows)) for other, data in ensemble]


def watched(dataset: Dataset) -> Iterator[Batch]:
    """All rows in batches; reports the number of completed rows after each (`regard.reporting.console`)."""
    done = 0
    for batch in Batches(dataset, cost=EVALUATE_COST, shuffle=False):
        yield batch
        done += len(batch.rows)
        tell("measuring", f"{done:,} of {len(dataset):,} rows", done / len(dataset))
