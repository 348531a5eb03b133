"""From rows to encoded columns, in a single pass that checks and encodes every row."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from regard.data.cache import RaggedWriter, mapped
from regard.data.columns.column import Column
from regard.data.contents import Contents, Unreadable
from regard.data.locating import locate, naming_files
from regard.data.prefetch import prefetched, usual_workers
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import Row
from regard.data.readers.source import RowSource, all_rows
from regard.data.rejections import Rejections
from regard.errors import RegardError

NEIGHBORS = 16
"""Number of files whose encodings are remembered while rows are checked."""


@dataclass(frozen=True)
class Encoded:
    """All usable rows.

    columns   name → encodings, of the cached columns
    texts     name → UTF-8 bytes of the raw values
    places    UTF-8 bytes of each row's "file:line"
    costs     (rows,) cost of the costliest column of each row
    """

    columns: dict[str, Ragged]
    texts: dict[str, Ragged]
    places: Ragged
    costs: Array


def fingerprint(rows: Iterable[Row]) -> str:
    """A hash of the content of the rows."""
    if isinstance(rows, RowSource):
        return rows.fingerprint()
    if isinstance(rows, Iterator):
        raise RegardError(
            "these rows can be read only once, but with a cache they are read twice.",
            fix="Pass a list or the result of read_rows, or build without a cache.",
        )
    digest = hashlib.blake2b(digest_size=16)
    for row in rows:
        digest.update(repr((sorted(row.items()), getattr(row, "where", ""))).encode(errors="surrogatepass"))
    return digest.hexdigest()


def encode_rows(
    rows: Iterable[Row], columns: Sequence[Column], rejections: Rejections, folder: Path | None
) -> Encoded:
    """Encode the rows in one pass. Memory does not grow with the number of rows, unless no folder is given."""
    cached = [column for column in columns if column.cached]
    encodings = {
        column.name: RaggedWriter(folder, f"{place}.ids", column.dtype) for place, column in enumerate(cached)
    }
    texts = {
        column.name: RaggedWriter(folder, f"{place}.text", np.uint8) for place, column in enumerate(columns)
    }
    places, costs = RaggedWriter(folder, "places", np.uint8), RaggedWriter(folder, "costs", np.int32)
    writers = [*encodings.values(), *texts.values(), places, costs]
    try:
        for row, outcome in examined(rows, columns):
            if isinstance(outcome, str):
                rejections.add(row, outcome)
                continue
            for column in columns:
                texts[column.name].append_bytes(row[column.field].encode("utf-8", errors="surrogatepass"))
                if column.cached:
                    encodings[column.name].append(stored(column, outcome[column.name]))
            places.append_bytes(getattr(row, "where", "").encode("utf-8", errors="surrogatepass"))
            costs.append(np.int32(max(column.cost(outcome[column.name]) for column in columns)))
        return Encoded(
            {name: writer.finish() for name, writer in encodings.items()},
            {name: writer.finish() for name, writer in texts.items()},
            places.finish(),
            costs.finish().values,
        )
    finally:
        for writer in writers:
            writer.close()


def examined(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[tuple[Row, dict[str, Array] | str]]:
    """Every row with the result of `examine`. Rows that name files are decoded in parallel."""
    naming, contents = naming_files(columns), Contents()
    # Neighboring rows often name the same file: captions of an image, questions about it.
    encoders = {
        column.name: column.encode if column.cached else lru_cache(NEIGHBORS)(column.encode)
        for column in columns
    }

    def one(row: Row) -> tuple[Row, dict[str, Array] | str]:
        row = locate(row, naming, contents) if naming else row
        return row, examine(row, columns, encoders)

    return prefetched(one, all_rows(rows), usual_workers(columns))


def examine(
    row: Row, columns: Sequence[Column], encoders: Mapping[str, Callable[[str], Array]]
) -> dict[str, Array] | str:
    """The encodings of a row, or the reason why it cannot be used; encoders: column → its `encode`."""
    problem = getattr(row, "problem", None)
    if problem:
        return f"the row {problem}"
    encoded: dict[str, Array] = {}
    for column in columns:
        value = row.get(column.field)
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


def stored(column: Column, encoded: Array) -> Array:
    """The encoding in the dtype of its column; refused if the conversion would lose fractions."""
    if encoded.size and not np.can_cast(encoded.dtype, column.dtype, casting="same_kind"):
        raise RegardError(
            f"the column encodes values as {encoded.dtype}, but stores {np.dtype(column.dtype)}.",
            where=column.name,
            fix=f"Set  dtype = np.{encoded.dtype.name}  in {type(column).__name__}."
            if encoded.dtype.kind in "biuf"
            else f"Return numbers from the method encode of {type(column).__name__}.",
        )
    return encoded.astype(column.dtype, copy=False)


def open_encoded(folder: Path, columns: Sequence[Column]) -> Encoded:
    """The encodings that `encode_rows` wrote to a folder."""
    cached = [column for column in columns if column.cached]
    return Encoded(
        {column.name: mapped(folder, f"{place}.ids", column.dtype) for place, column in enumerate(cached)},
        {column.name: mapped(folder, f"{place}.text", np.uint8) for place, column in enumerate(columns)},
        mapped(folder, "places", np.uint8),
        mapped(folder, "costs", np.int32).values,
    )
