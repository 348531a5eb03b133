"""Models that are evaluated as one, each with the rows in its own encoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from regard.data import Batch, Batches, Dataset
from regard.errors import RegardError
from regard.reporting.watching import tell

if TYPE_CHECKING:
    from regard.model import Model

Ensemble: TypeAlias = "Sequence[tuple[Model, Dataset]]"
"""The additional models of an ensemble."""
EVALUATE_COST = 8000


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
    """All rows in batches; reports the number of completed rows after each (`regard.reporting.watching`)."""
    done = 0
    for batch in Batches(dataset, cost=EVALUATE_COST, shuffle=False):
        yield batch
        done += len(batch.rows)
        tell("measuring", f"{done:,} of {len(dataset):,} rows", done / len(dataset))
