"""What a metric can ask of a model that is measured: the outputs and where it looked, without knowing the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from regard.data import Batch
from regard.data.columns import Column
from regard.prediction import Prediction
from regard.trace import Trace

if TYPE_CHECKING:
    from regard.nn.memory import Memory

Found = TypeVar("Found")


@dataclass(frozen=True)
class OutputInfo:
    """An output, and what is known about it.

    columns    of the model, or of the rows where there are some
    inputs     names of the columns that encoders read
    outputs    names of all outputs
    truth      {input: column that says where this output should look}
    attended   inputs its decoder attends to
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
        """{input: truth column} of those columns that have this type; with `attended`, of inputs attended to."""
        return {
            name: column
            for name, column in self.truth.items()
            if column in self.columns
            and self.columns[column].type == kind
            and (name in self.attended or not attended)
        }


class Inference(Protocol):
    """A model, or an ensemble, applied to rows; everything is computed when asked for."""

    @property
    def output(self) -> OutputInfo:
        """The output that is measured; its columns are those the rows hold."""

    def __len__(self) -> int:
        """How many rows there are."""

    def raw(self, row: int) -> Mapping[str, str]:
        """Column → the text as it stood in the data."""

    @property
    def predictions(self) -> Sequence[Prediction]:
        """What the model answers, one prediction a row, without traces."""

    @property
    def references(self) -> list[list[Any]]:
        """The true values of each row, one or more, as `Prediction.value` holds them."""

    def likelihood(self) -> tuple[float, float]:
        """The summed −log p of the true outputs (natural), and the number of items."""

    def traces(self, *, structures: bool = False) -> Iterator[tuple[int, Trace]]:
        """Each row and where the model looked: while it wrote the true output, where it writes step by step; while it
        answered, where it answers at once.

        structures   with what was selected jointly and what was copied, at the price of writing once more
        """

    def memories(self) -> Iterator[tuple[Batch, Mapping[str, Memory]]]:
        """Batches of all rows, and what the encoders made of them."""

    def shape(self, name: str) -> tuple[int, ...] | None:
        """(rows, columns) of the grid that an input's positions make, where they make one."""

    def once(self, make: Callable[[Inference], Found]) -> Found:
        """`make` of this inference, computed once for all metrics that ask for it."""

    def dev(self) -> Inference | None:
        """The same model on the rows of dev, to choose thresholds on; None where these are the rows of dev."""
