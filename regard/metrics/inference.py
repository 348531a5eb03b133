"""The interface between metrics and a model: its outputs and its attention on some rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from regard.data import Batch
from regard.data.columns import Column
from regard.trace import Trace
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.nn.memory import Memory

Found = TypeVar("Found")


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
