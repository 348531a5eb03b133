"""Encode blocks by what is remembered of their values: with the results of `encoding.examine`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.data.blocks.block import RowBlock
from regard.data.blocks.remembered import Remembered
from regard.data.columns.column import Column
from regard.data.contents import Unreadable
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError

REFUSED, BLANK = 1, 2


class EncodedBlock(NamedTuple):
    """Rows of a block that can be used, and the numbers of the expected rows that must be looked at one by one."""

    encodings: list[Ragged]
    texts: list[Ragged]
    places: Ragged
    costs: Ragged


class ColumnMemory:
    """The encodings of the values of a column, or of their words."""

    def __init__(self, column: Column) -> None:
        space = column.between_words
        self.column, self.space = column, np.zeros(0, np.int32) if space is None else space
        self.values = Remembered(by_words=space is not None)
        self._known = np.empty(1 << 16, column.dtype)
        self._places, self._sizes = np.zeros(1 << 12, np.int64), np.zeros(1 << 12, np.int64)
        self._marks = np.zeros(1 << 12, np.uint8)
        self._filled = self._used = 0

    def find(self, block: RowBlock, usual: Array) -> tuple[Array, Array, Array]:
        """The entries of each row, their offsets, and the length of each encoding. Rows that must be looked at one by
        one become False in `usual`."""
        from regard.data.blocks.kernels import measure

        starts, ends = block.cells(self.column.field)
        starts, ends = np.ascontiguousarray(starts), np.ascontiguousarray(ends)
        found, offsets, _ = self.values.find(block.text, starts, ends)
        self._learn()
        lengths = np.zeros(len(block), np.int64)
        measure(found, offsets, self._sizes, self._marks, len(self.space), lengths, usual)
        if self.values.by_words:
            usual &= lengths > 0
        if self.values.by_words and self.column.most_numbers is not None:
            usual &= lengths <= self.column.most_numbers
        return found, offsets, lengths

    def gather(self, found: Array, offsets: Array, rows: Array, lengths: Array) -> Ragged:
        from regard.data.blocks.kernels import gather

        ends = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths[rows], out=ends[1:])
        values = np.empty(int(ends[-1]), self.column.dtype)
        gather(found, offsets, rows, self._sizes, self._places, self._known, self.space, values)
        return Ragged(values, ends)

    def _learn(self) -> None:
        """Encode the values that are new."""
        new = [self._encoded(value) for value in self.values.entries(self._filled)]
        if not new:
            return
        total = self._filled + len(new)
        for name in ("_places", "_sizes", "_marks"):
            setattr(self, name, _grown(getattr(self, name), total))
        for mark, encoded in new:
            self._known = _grown(self._known, self._used + len(encoded))
            self._known[self._used : self._used + len(encoded)] = encoded
            number = self._filled
            self._places[number], self._sizes[number], self._marks[number] = self._used, len(encoded), mark
            self._used += len(encoded)
            self._filled += 1

    def _encoded(self, value: str) -> tuple[int, Array]:
        column, nothing = self.column, np.zeros(0, self.column.dtype)
        blank = self.values.by_words and not value.strip()
        if not blank and column.check_value(value) is not None:
            return REFUSED, nothing
        try:
            encoded = column.encode(value)
        except (Unreadable, RegardError):
            return REFUSED, nothing
        if not self.values.by_words and column.check_encoded(encoded) is not None:
            return REFUSED, nothing
        return BLANK if blank else 0, np.reshape(column.stored(np.asarray(encoded)), -1)


class BlockEncoder:
    """Encodes the blocks of a table, by columns that encode each value `by_itself`."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.memories = [ColumnMemory(column) for column in columns]

    def encode(self, block: RowBlock) -> tuple[RowBlock, EncodedBlock]:
        """The block, with the rows that must be looked at one by one among its odd ones, and the encodings of the
        others."""
        usual = np.ones(len(block), bool)
        found = [memory.find(block, usual) for memory in self.memories]
        rows = np.flatnonzero(usual)
        encodings = [
            memory.gather(entries, offsets, rows, lengths)
            for memory, (entries, offsets, lengths) in zip(self.memories, found, strict=True)
        ]
        costs = np.max([lengths[rows] for _, _, lengths in found], axis=0).astype(np.int32)
        costliest = Ragged(costs, np.arange(len(rows) + 1, dtype=np.int64))
        others = [(int(place), block.row(int(place))) for place in np.flatnonzero(~usual)]
        odd = sorted([*block.odd, *others], key=lambda one: one[0])
        kept = block.some(usual, odd)
        texts = [_cells(kept, memory.column.field) for memory in self.memories]
        return kept, EncodedBlock(encodings, texts, _places(kept), costliest)


def _cells(block: RowBlock, field: str) -> Ragged:
    from regard.data.blocks.kernels import copy_cells

    starts, ends = (np.ascontiguousarray(side) for side in block.cells(field))
    offsets = np.zeros(len(block) + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    values = np.empty(int(offsets[-1]), np.uint8)
    copy_cells(block.text, starts, ends, values)
    return Ragged(values, offsets)


def _places(block: RowBlock) -> Ragged:
    from regard.data.blocks.kernels import write_places

    file = np.frombuffer(f"{block.file}:".encode(errors="surrogatepass"), np.uint8)
    values = np.empty(len(block) * (len(file) + 20), np.uint8)
    lengths, offsets = np.zeros(len(block), np.int64), np.zeros(len(block) + 1, np.int64)
    size = int(write_places(file, block.numbers, values, lengths))
    np.cumsum(lengths, out=offsets[1:])
    return Ragged(values[:size], offsets)


def _grown(array: Array, size: int) -> Array:
    """An array of at least that size, with the same beginning."""
    if size <= len(array):
        return array
    more = np.zeros(max(size, 2 * len(array)), array.dtype)
    more[: len(array)] = array
    return more
