"""Rows of different lengths in one flat array: the storage of encodings and raw text, in memory or memory-mapped."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
WAITING_ROWS, WAITING_BYTES = 4096, 1 << 18
"""Size of the write buffer, in rows and bytes."""


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


class RaggedWriter:
    """Appends rows one by one to two files, or to memory if no folder is given."""

    def __init__(self, folder: Path | None, name: str, dtype: DTypeLike) -> None:
        self.folder, self.name, self.dtype = folder, name, np.dtype(dtype)
        self._values, self._offsets = self._sink("values"), self._sink("offsets")
        self._waiting: list[bytes] = []
        self._waiting_bytes = self._total = 0
        self._offsets.write(np.int64(0).tobytes())

    def _sink(self, part: str) -> IO[bytes]:
        return io.BytesIO() if self.folder is None else (self.folder / f"{self.name}.{part}").open("wb")

    def append(self, row: Array | np.generic) -> None:
        self.append_bytes((row if row.dtype == self.dtype else np.asarray(row, dtype=self.dtype)).tobytes())

    def append_bytes(self, content: bytes) -> None:
        self._waiting.append(content)
        self._waiting_bytes += len(content)
        if self._waiting_bytes >= WAITING_BYTES or len(self._waiting) >= WAITING_ROWS:
            self._flush()

    def append_all(self, rows: Ragged, begin: int, end: int) -> None:
        """Append the rows from one number to another."""
        if begin == end:
            return
        self._flush()
        offsets = rows.offsets[begin : end + 1]
        self._values.write(np.ascontiguousarray(rows.values[offsets[0] : offsets[-1]]).data)
        self._offsets.write((self._total + offsets[1:] - offsets[0]).tobytes())
        self._total += int(offsets[-1] - offsets[0])

    def _flush(self) -> None:
        lengths = np.array([len(content) for content in self._waiting], dtype=np.int64) // self.dtype.itemsize
        self._values.write(b"".join(self._waiting))
        self._offsets.write((self._total + np.cumsum(lengths)).tobytes())
        self._total += int(lengths.sum())
        self._waiting.clear()
        self._waiting_bytes = 0

    def finish(self) -> Ragged:
        self._flush()
        if self.folder is None:
            contents = [
                sink.getvalue() for sink in (self._values, self._offsets) if isinstance(sink, io.BytesIO)
            ]
            return Ragged(
                np.frombuffer(contents[0], dtype=self.dtype), np.frombuffer(contents[1], dtype=np.int64)
            )
        self.close()
        return mapped(self.folder, self.name, self.dtype)

    def close(self) -> None:
        self._values.close()
        self._offsets.close()


def mapped(folder: Path, name: str, dtype: Any) -> Ragged:
    """The rows that a `RaggedWriter` wrote, memory-mapped; the mapping survives renaming the folder."""

    def array(part: str, kind: Any) -> Array:
        path = folder / f"{name}.{part}"
        if path.stat().st_size == 0:
            return np.zeros(0, dtype=kind)
        # A plain view is much faster to index than the memmap itself.
        return np.memmap(path, dtype=kind, mode="r").view(np.ndarray)

    return Ragged(array("values", dtype), array("offsets", np.int64))
