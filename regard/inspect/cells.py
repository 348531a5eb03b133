"""The row of a large matrix, whose cells become marks when they are read.

A figure of 50 by 50 words has thousands of equal squares. A page draws them from their numbers alone, so that an edit
of the attention is answered without making a mark for each; everyone else reads the marks as those of any other group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from regard.inspect.scene import Mark


@dataclass(frozen=True)
class WeightSquares:
    """Squares in a row, one for each column, with weights of a step.

    x, y        the upper left corner of the first from the left
    pitch       the distance between two
    side        of a square, with corners of this `radius`
    mirrored    whether the first column is on the right
    edged       whether empty cells, of weight 0, have an edge
    input       the attended input
    step        the row
    row         its label
    columns     the labels of the columns
    values      the weights
    levels      their shades, 0 to 100
    numbers     the weights in words
    true        the columns that are outlined, which means `outlined`
    """

    x: float
    y: float
    pitch: float
    side: float
    radius: float
    mirrored: bool
    edged: bool
    input: str
    step: int
    row: str
    columns: tuple[str, ...]
    values: Sequence[float]
    levels: Sequence[int]
    numbers: Sequence[str]
    true: Sequence[int]
    outlined: str


class CellRow(Sequence[Mark]):
    """The marks of a row: what stands before its cells, the cells, and what is painted over them."""

    def __init__(
        self,
        before: Sequence[Mark],
        cells: WeightSquares,
        after: Sequence[Mark],
        make: Callable[[], list[Mark]],
    ) -> None:
        self.before, self.cells, self.after = tuple(before), cells, tuple(after)
        self._make = make

    def __iter__(self) -> Iterator[Mark]:
        yield from self.before
        yield from self._make()
        yield from self.after

    @overload
    def __getitem__(self, place: int) -> Mark: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Mark]: ...
    def __getitem__(self, place: int | slice) -> Mark | Sequence[Mark]:
        return tuple(self)[place]

    def __len__(self) -> int:
        return len(self.before) + len(self.cells.columns) + len(self.after)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))
