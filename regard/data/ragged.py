"""Rows of different lengths in one flat array: the storage of encodings and raw text, in memory or memory-mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Ragged:
    """Row i is values[offsets[i] : offsets[i + 1]].

    values   (total,)    any type; may be memory-mapped
    offsets  (rows + 1,) int64, from 0 to total
    """

    values: Array
    offsets: Array

    @classmethod
    def of(cls, rows: Ragged | Sequence[Array]) -> Ragged:
        """The concatenated rows; a scalar counts as a row of length 1."""
        if isinstance(rows, Ragged):
            return rows
        flat = [np.reshape(row, -1) for row in rows]
        offsets = np.zeros(len(flat) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in flat], out=offsets[1:])
        return cls(np.concatenate(flat) if flat else np.zeros(0, dtype=np.int32), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Array:
        return np.asarray(self.values[self.offsets[row] : self.offsets[row + 1]])

    @property
    def lengths(self) -> Array:
        """(rows,) int64"""
        return np.diff(self.offsets)

    def take(self, rows: Array) -> Ragged:
        """A copy of the given rows, in the given order, by a single gather."""
        starts = np.asarray(self.offsets[rows])
        lengths = np.asarray(self.offsets[rows + 1]) - starts
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Ragged(np.asarray(self.values[places]), offsets)

    def padded(self, fill: int = 0) -> Array:
        """(rows, longest), with `fill` to the right of shorter rows. The dtype is int64, or that of the values if
        floats."""
        lengths = self.lengths
        longest = int(lengths.max(initial=0))
        kind = self.values.dtype if np.issubdtype(self.values.dtype, np.floating) else np.dtype(np.int64)
        table = np.full((len(self), longest), fill, dtype=kind)
        table[np.arange(longest) < lengths[:, None]] = self.values
        return table
