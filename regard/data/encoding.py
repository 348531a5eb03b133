"""Rows, checked and encoded by their columns in a single pass, and collated into batches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.data.batch import Batch
from regard.data.columns.column import Column
from regard.data.contents import Contents, Unreadable
from regard.data.encoding_cache import EncodingCache
from regard.data.locating import locate
from regard.data.prefetch import prefetched
from regard.data.ragged import Array, Ragged, RaggedWriter, mapped
from regard.data.readers.row import Row, all_rows, blocks_of
from regard.errors import RegardError, Words

if TYPE_CHECKING:
    from regard.data.blocks.block import RowBlock
    from regard.data.blocks.encoder import EncodedBlock

NEIGHBORS = 16
"""Number of files whose encodings are remembered while rows are checked."""
MOST_WORKERS = 4
COST = np.dtype(np.int32)


class EncodedRows:
    """Usable rows, each known by its number.

    columns     name → column
    encodings   name → encodings, of the cached columns
    texts       name → UTF-8 bytes of the raw values
    places      UTF-8 bytes of each row's "file:line"
    costs       (rows,) int32: cost of the costliest column of each row
    """

    def __init__(
        self,
        columns: Sequence[Column],
        encodings: Mapping[str, Ragged],
        texts: Mapping[str, Ragged],
        places: Ragged,
        costs: Array,
    ) -> None:
        self.columns = {column.name: column for column in columns}
        self.encodings, self.texts, self.places, self.costs = encodings, texts, places, costs
        # Columns that are `of` others come last, because their shapes depend on those.
        self._ordered = sorted(columns, key=lambda column: len(column.of) > 0)
        self._held = EncodingCache() if self.lively else None

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def lively(self) -> bool:
        """Whether some columns are encoded anew for every batch, not cached."""
        return not all(column.cached for column in self.columns.values())

    def text(self, row: int, name: str) -> str:
        """The text of one column, as written in the data."""
        return self.texts[name][row].tobytes().decode("utf-8", errors="surrogatepass")

    def raw(self, row: int) -> dict[str, str]:
        """Column → text, as written in the data."""
        return {name: self.text(row, name) for name in self.columns}

    def where(self, row: int) -> str:
        """file:line of the row."""
        return self.places[row].tobytes().decode("utf-8", errors="surrogatepass")

    def by_cost(self) -> Array:
        """(rows,) the rows in ascending order of cost, then of length, so that neighbors need little padding."""
        lengths = [encodings.lengths for encodings in self.encodings.values()]
        return np.lexsort((np.sum(lengths, axis=0) if lengths else self.costs, np.maximum(self.costs, 1)))

    def batches(self, most: int) -> Iterator[Batch]:
        """All rows by their cost, collated at most so many at a time."""
        if most < 1:
            raise RegardError(f"rows is {most}, expected at least 1.", where="batches")
        order = self.by_cost()
        pieces = [order[start : start + most] for start in range(0, len(order), most)]
        # A single batch takes less time than starting a thread. Cached encodings only have to be gathered.
        workers = usual_workers(self.columns.values()) if len(pieces) > 1 else 0
        return prefetched(self.batch, pieces, workers) if workers else map(self.batch, pieces)

    def batch(
        self,
        rows: Sequence[int] | Array,
        *,
        examples: Array | None = None,
        varied: tuple[int, int] | None = None,
    ) -> Batch:
        """The collated rows.

        examples   the numbers of the rows in the batch; default: the rows themselves
        varied     (seed, epoch), which together with the row determine the augmentation
        """
        rows = np.asarray(rows, dtype=np.int64)

        def texts(name: str) -> list[str]:
            return [self.text(row, name) for row in rows.tolist()]

        collated: dict[str, Any] = {}
        for column in self._ordered:
            name = column.name
            if column.reads_texts:
                collated[name] = column.collate_texts(self.encodings[name].take(rows), texts(name))
            elif column.cached:
                collated[name] = column.collate(self.encodings[name].take(rows), collated)
            else:
                collated[name] = column.collate(
                    [self.encoding(column, row, varied) for row in rows.tolist()], collated
                )
        costliest = int(self.costs[rows].max(initial=0))
        in_order = {name: collated[name] for name in self.columns}
        numbers = rows if examples is None else examples
        return Batch(in_order, tuple(numbers.tolist()), len(rows) * costliest, texts=texts)

    def encoding(self, column: Column, row: int, varied: tuple[int, int] | None = None) -> Array:
        """The encoding of one value."""
        if column.cached:
            return self.encodings[column.name][row]
        value = self.text(row, column.name)
        try:
            if varied is not None and column.varies:
                seed, epoch = varied
                return column.varied(value, np.random.default_rng([seed % 2**32, epoch, row]))
            held = self._held
            return column.encode(value) if held is None else held.get(column.name, value, row, column.encode)
        except Unreadable as error:
            raise RegardError(
                f"{column.field} {error.reason}.",
                where=self.where(row),
                fix="It could be read when the data were prepared: has the file changed since?",
            ) from error


def usual_workers(columns: Iterable[Column]) -> int:
    """Default number of threads that prepare batches: one per CPU core, at most 4. It is 0 if all columns are
    cached."""
    return 0 if all(column.cached for column in columns) else min(MOST_WORKERS, os.cpu_count() or 1)


def encode_rows(
    rows: Iterable[Row],
    columns: Iterable[Column],
    *,
    folder: Path | None = None,
    bad: Callable[[Row, str], None] | None = None,
    remedy: Words = "",
) -> EncodedRows:
    """Encode the rows in one pass. Memory does not grow with the number of rows, unless no folder is given.

    The rows of large tables are encoded in blocks (`regard.data.blocks`), with the same results.

    folder   where to write the encodings; None: keep them in memory
    bad      called with a row that cannot be used and the reason; default: raise an error with the remedy
    """
    columns = list(columns)
    encodings = {
        column.name: RaggedWriter(folder, f"{place}.ids", column.dtype)
        for place, column in enumerate(column for column in columns if column.cached)
    }
    texts = {
        column.name: RaggedWriter(folder, f"{place}.text", np.uint8) for place, column in enumerate(columns)
    }
    places, costs = RaggedWriter(folder, "places", np.uint8), RaggedWriter(folder, "costs", COST)
    writers = [*encodings.values(), *texts.values(), places, costs]

    def write(some: Iterable[Row]) -> None:
        for row, outcome in examined(some, columns):
            if isinstance(outcome, str):
                if bad is None:
                    raise RegardError(f"{outcome}.", where=row.where, fix=remedy)
                bad(row, outcome)
                continue
            for column in columns:
                texts[column.name].append_bytes(
                    row.get(column.field, "").encode("utf-8", errors="surrogatepass")
                )
                if column.cached:
                    encodings[column.name].append(column.stored(outcome[column.name]))
            places.append_bytes(getattr(row, "where", "").encode("utf-8", errors="surrogatepass"))
            cost = int(max([column.cost(outcome[column.name]) for column in columns]))
            costs.append_bytes(cost.to_bytes(COST.itemsize, sys.byteorder, signed=True))

    try:
        blocks = blocks_of(rows, problems=True) if all(column.by_itself for column in columns) else None
        for block, encoded in () if blocks is None else encoded_blocks(blocks, columns):
            for begin, end, row in block.runs():
                for place, column in enumerate(columns):
                    encodings[column.name].append_all(encoded.encodings[place], begin, end)
                    texts[column.name].append_all(encoded.texts[place], begin, end)
                places.append_all(encoded.places, begin, end)
                costs.append_all(encoded.costs, begin, end)
                write([] if row is None else [row])
        if blocks is None:
            write(all_rows(rows))
        return EncodedRows(
            columns,
            {name: writer.finish() for name, writer in encodings.items()},
            {name: writer.finish() for name, writer in texts.items()},
            places.finish(),
            costs.finish().values,
        )
    finally:
        for writer in writers:
            writer.close()


def encoded_blocks(
    blocks: Iterable[RowBlock], columns: Sequence[Column]
) -> Iterator[tuple[RowBlock, EncodedBlock]]:
    """Each block, and the encodings of its rows but for the odd ones."""
    from regard.data.blocks.encoder import BlockEncoder

    return map(BlockEncoder(columns).encode, blocks)


def open_encoded(folder: Path, columns: Sequence[Column]) -> EncodedRows:
    """The encodings that `encode_rows` wrote to a folder."""
    cached = [column for column in columns if column.cached]
    return EncodedRows(
        columns,
        {column.name: mapped(folder, f"{place}.ids", column.dtype) for place, column in enumerate(cached)},
        {column.name: mapped(folder, f"{place}.text", np.uint8) for place, column in enumerate(columns)},
        mapped(folder, "places", np.uint8),
        mapped(folder, "costs", np.int32).values,
    )


def examined(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[tuple[Row, dict[str, Array] | str]]:
    """Every row with the result of `examine`. Rows that name files are decoded in parallel."""
    naming = [column for column in columns if column.names_files]
    contents = Contents() if naming else None
    # Neighboring rows often name the same file: captions of an image, questions about it.
    encoders = {
        column.name: column.encode if column.cached else lru_cache(NEIGHBORS)(column.encode)
        for column in columns
    }

    def one(row: Row) -> tuple[Row, dict[str, Array] | str]:
        row = row if contents is None else locate(row, naming, contents)
        return row, examine(row, columns, encoders)

    workers = usual_workers(columns)
    return prefetched(one, rows, workers) if workers else map(one, rows)


def examine(
    row: Row, columns: Sequence[Column], encoders: Mapping[str, Callable[[str], Array]]
) -> dict[str, Array] | str:
    """The encodings of a row, or the reason why it cannot be used; encoders: column → its `encode`."""
    problem = getattr(row, "problem", None)
    if problem:
        return f"the row {problem}"
    encoded: dict[str, Array] = {}
    for column in columns:
        value = row.get(column.field, "" if column.may_lack else None)
        reason = column.check_value(value)
        if reason is None and value is not None:
            try:
                encoded[column.name] = encoders[column.name](value)
            except Unreadable as error:
                return f"{column.field} {error.reason}"
            reason = column.check_encoded(encoded[column.name])
        if reason:
            return f"{column.field} {reason}"
    for column in columns:
        reason = column.check_beside(encoded[column.name], encoded) if column.of else None
        if reason:
            return f"{column.field} {reason}"
    return encoded
