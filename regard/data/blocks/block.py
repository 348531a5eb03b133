"""Consecutive rows of a file: its bytes, and the places of the cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.data.ragged import Array
from regard.data.readers.row import Row


@dataclass(frozen=True)
class RowBlock:
    """Rows that are as expected, as places in bytes, and the others as themselves.

    file           path, as the rows name it
    fields         their fields
    text           (bytes,) uint8, valid UTF-8 where there are cells
    starts, ends   (rows, fields) int64: the bytes of each cell
    numbers        (rows,) int64: the number of each line
    odd            rows that are not as expected, each with the number of expected rows before it
    """

    file: str
    fields: tuple[str, ...]
    text: Array
    starts: Array
    ends: Array
    numbers: Array
    odd: Sequence[tuple[int, Row]]

    def __len__(self) -> int:
        """Number of rows that are as expected."""
        return len(self.numbers)

    def cells(self, field: str) -> tuple[Array, Array]:
        """Start and end of the cell of each row."""
        place = self.fields.index(field)
        return self.starts[:, place], self.ends[:, place]

    def row(self, number: int) -> Row:
        content: memoryview = self.text.data
        bounds = zip(self.fields, self.starts[number].tolist(), self.ends[number].tolist(), strict=True)
        values = {field: str(content[start:end], "utf-8") for field, start, end in bounds}
        return Row(values, file=self.file, line=int(self.numbers[number]))

    def keys(self, fields: Sequence[str]) -> Array:
        """(rows,) uint64: a number for the text of some fields of each row."""
        from regard.data.blocks.digests import digests

        places = [self.fields.index(field) for field in fields]
        found = np.empty(len(self), np.uint64)
        starts, ends = (np.ascontiguousarray(side[:, places]) for side in (self.starts, self.ends))
        digests(self.text, starts, ends, found)
        return found

    def some(self, kept: Array, odd: Sequence[tuple[int, Row]]) -> RowBlock:
        """The expected rows with True in `kept`, and some of the odd ones."""
        before = np.concatenate([[0], np.cumsum(kept)])
        moved = [(int(before[place]), row) for place, row in odd]
        starts, ends, numbers = self.starts[kept], self.ends[kept], self.numbers[kept]
        return replace(self, starts=starts, ends=ends, numbers=numbers, odd=moved)

    def runs(self) -> Iterator[tuple[int, int, Row | None]]:
        """The expected rows from one number to another, and the odd row after them, in the order of the file."""
        begin = 0
        for place, row in self.odd:
            yield begin, place, row
            begin = place
        yield begin, len(self), None
