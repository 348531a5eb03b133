"""A dataset: rows encoded once, accessed by index, collated into batches; rows that cannot be used are set aside."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.data.batch import Batch
from regard.data.cache import building, key_of, read_manifest, released, write_manifest
from regard.data.columns.column import Column
from regard.data.contents import is_data
from regard.data.encoding import EncodedRows, encode_rows, open_encoded
from regard.data.locating import stamped
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import Row, all_rows, fingerprint, sources_of
from regard.data.readers.rows import SKIP_HINT, BadRows
from regard.errors import RegardError, Words
from regard.storage.files import write_bytes

MOST_CONTENT = 64
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_MEANINGS = {written: sign for sign, written in _ESCAPES.items()}
REJECTED = "rejected.tsv"
MANY = 1 << 14
"""Rows whose texts are taken at once."""
PASSED = 1 << 24
"""Bytes of encodings to keep in memory during a pass over all rows."""


class Rejected(NamedTuple):
    """One line of rejected.tsv; tabs and line ends inside a cell are written as \\t, \\n and \\r."""

    file: str
    line: int
    reason: str
    row: str

    def write(self) -> str:
        cells = (self.file, str(self.line), self.reason, self.row)
        return "\t".join(re.sub(r"[\\\t\n\r]", lambda m: _ESCAPES[m[0]], cell) for cell in cells) + "\n"

    @classmethod
    def read(cls, line: str) -> Rejected:
        cells = [
            re.sub(r"\\[\\tnr]", lambda m: _MEANINGS[m[0]], cell)
            for cell in line.removesuffix("\n").split("\t")
        ]
        return cls(cells[0], int(cells[1]), cells[2], cells[3])


HEADER = "\t".join(Rejected._fields) + "\n"


class Rejections:
    """How to treat bad rows while a dataset is built.

    on_bad   "stop" raises at the first; "skip" counts and keeps them
    remedy   the remedy in the error about the first bad row
    """

    def __init__(self, on_bad: BadRows, kept: Iterable[Rejected] = (), *, remedy: Words = SKIP_HINT) -> None:
        self.on_bad, self.kept, self.remedy = on_bad, list(kept), remedy

    def add(self, row: Row, reason: str) -> None:
        """reason: a sentence without its period, such as "target is empty"."""
        if self.on_bad == "stop":
            raise RegardError(f"{reason}.", where=row.where, fix=self.remedy)
        self.kept.append(
            Rejected(row.file, row.line, reason, row.source or "\t".join(map(short, row.values())))
        )

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def reasons(self) -> Counter[str]:
        """Number of rows for each reason, with numbers and quoted values replaced: "target has … tokens"."""
        return Counter(
            re.sub(r"'[^']*'|\b\d+\b|\b0x[0-9a-f]+\b", "…", rejected.reason) for rejected in self.kept
        )


def short(value: str) -> str:
    """The value, shortened if it is the content of a file."""
    return f"{value[:MOST_CONTENT]}…" if is_data(value) and len(value) > MOST_CONTENT else value


def write_rejected(path: Path, rejected: Iterable[Rejected]) -> int:
    """Write rejected.tsv atomically and return the number of its rows. Without rows, remove any old file."""
    lines = [one.write() for one in rejected]
    if not lines:
        path.unlink(missing_ok=True)
        return 0
    write_bytes(path, "".join([HEADER, *lines]).encode("utf-8", errors="backslashreplace"))
    return len(lines)


def read_rejected(path: Path) -> list[Rejected]:
    """The inverse of `write_rejected`."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="\n") as file:
        next(file)
        return [Rejected.read(line) for line in file]


class Dataset:
    """Examples. Each is a row or, with `references`, all rows that differ in the references only.

    columns      name → column
    rejections   the rejected rows, with their reasons
    """

    def __init__(
        self,
        encoded: EncodedRows,
        rejections: Rejections,
        *,
        first: Array | None = None,
        groups: Ragged | None = None,
    ) -> None:
        """first: (examples,) the first row of each example; groups: example → all its rows. None: each row is an
        example."""
        self.columns = encoded.columns
        self.rejections = rejections
        self._encoded = encoded
        self._first = np.arange(len(encoded)) if first is None else first
        self._groups = groups

    @classmethod
    def build(
        cls,
        rows: Iterable[Row],
        columns: Iterable[Column],
        *,
        cache: Path | str | None = None,
        on_bad: BadRows = "stop",
        rejected: Path | str | None = None,
        references: Collection[str] = (),
        remedy: Words = SKIP_HINT,
    ) -> Dataset:
        """Encode the rows, or load their encodings from the cache.

        cache        folder for encodings, keyed by the content of the rows, the states of the columns and `on_bad`.
                     Cached encodings are memory-mapped, so memory stays bounded. None: keep encodings in memory
        on_bad       "stop" at the first bad row, or "skip" bad rows
        rejected     file for the skipped rows (rejected.tsv)
        references   names of output columns. Rows that agree in all other columns become one example, with their
                     outputs as its references
        remedy       the remedy in the error about a bad row, if rows are kept in memory
        """
        columns = list(columns)
        if cache is None:
            rejections = Rejections(on_bad, remedy=remedy)
            encoded = encode_rows(rows, columns, bad=rejections.add)
        else:
            encoded, rejections = _cached(rows, columns, Path(cache), on_bad)
        if not len(encoded):
            left_out = (
                f" (all {len(rejections)} were left out: {_most(rejections)})" if len(rejections) else ""
            )
            raise RegardError(f"there are no rows to use{left_out}.", where=_place(rows))
        if rejected is not None:
            write_rejected(Path(rejected), rejections.kept)
        dataset = cls(encoded, rejections)
        return dataset.grouped(references) if references else dataset

    @property
    def rejected(self) -> int:
        """Number of rejected rows."""
        return len(self.rejections)

    def __len__(self) -> int:
        return len(self._first)

    def __getitem__(self, example: int) -> dict[str, Array]:
        """Column → encoding of this example."""
        row = self._row(example)
        found = {}
        for name, column in self.columns.items():
            ids = self._encoded.encoding(column, row)
            found[name] = ids.reshape(()) if column.scalar else ids
        return found

    def _row(self, example: int) -> int:
        if not -len(self) <= example < len(self):
            raise IndexError(f"example {example} of {len(self)}")
        return int(self._first[example])

    def text(self, example: int, name: str) -> str:
        """The text of one column, as written in the data."""
        return self._encoded.text(self._row(example), name)

    def contents(self, name: str) -> Iterator[bytes]:
        """The text of one column of each example, as UTF-8. Memory stays bounded."""
        texts = self._encoded.texts[name]
        for start in range(0, len(self), MANY):
            some = texts.take(self._first[start : start + MANY])
            content, offsets = some.values.tobytes(), some.offsets.tolist()
            yield from (content[low:high] for low, high in pairwise(offsets))
            released(texts.values)

    def raw(self, example: int) -> dict[str, str]:
        """Column → text, as written in the data."""
        return self._encoded.raw(self._row(example))

    def where(self, example: int) -> str:
        """file:line of the example."""
        return self._encoded.where(self._row(example))

    def references(self, example: int, name: str) -> list[str]:
        """All distinct values of a column among the rows of the example, in order of appearance."""
        rows: Sequence[int] = [self._row(example)] if self._groups is None else self._groups[example].tolist()
        return list(dict.fromkeys(self._encoded.text(row, name) for row in rows))

    def remarks(self) -> list[str]:
        """Remarks of the columns about the rows, such as "tree: 3 of 100 trees are not projective", and on merged
        rows."""
        found = []
        rows = len(self) if self._groups is None else len(self._groups.values)
        if rows > len(self):
            found.append(
                f"{rows:,} rows have {len(self):,} different inputs; rows with the same input are evaluated once, with "
                "all their outputs as references (data.references=false: each row by itself)"
            )
        for name, column in self.columns.items():
            if not column.cached or not column.has_remark:
                continue
            remark = column.remark(self._passed(name))
            found += [f"{name}: {remark}"] if remark else []
        return found

    def _passed(self, name: str) -> Iterator[tuple[str, Array]]:
        """The text and encoding of each example. Memory stays bounded."""
        texts, encodings = self._encoded.texts[name], self._encoded.encodings[name]
        passed = 0
        for row in self._first.tolist():
            yield self._encoded.text(row, name), encodings[row]
            passed += encodings[row].nbytes
            if passed >= PASSED:
                released(texts.values)
                released(encodings.values)
                passed = 0

    @property
    def costs(self) -> Array:
        """(examples,) int32: the cost of each example's costliest column."""
        return np.asarray(self._encoded.costs[self._first])

    @property
    def lively(self) -> bool:
        """Whether some columns are encoded anew for every batch, not cached."""
        return self._encoded.lively

    def lengths(self, name: str) -> Array:
        """(examples,) int64: length of each encoding of a column; for a column that is not cached, the cost of each
        row."""
        if not self.columns[name].cached:
            return self.costs.astype(np.int64)
        offsets = self._encoded.encodings[name].offsets
        return np.asarray(offsets[self._first + 1] - offsets[self._first])

    def batch(self, examples: Sequence[int] | Array, *, varied: tuple[int, int] | None = None) -> Batch:
        """The collated examples.

        varied   (seed, epoch), which together with the example determine the augmentation
        """
        examples = np.asarray(examples, dtype=np.int64)
        return self._encoded.batch(self._first[examples], examples=examples, varied=varied)

    def stream(self, name: str) -> Array:
        """(tokens,) the encodings of a column, concatenated over all rows; memory-mapped if cached."""
        return self._encoded.encodings[name].values

    def rows_of(self, name: str, places: Array) -> tuple[int, ...]:
        """The rows that contain the given positions of a `stream`."""
        offsets = self._encoded.encodings[name].offsets
        return tuple((np.searchsorted(offsets, places, side="right") - 1).tolist())

    def subset(self, examples: Sequence[int] | Array) -> Dataset:
        """Some of the examples, in the given order, without copying."""
        examples = np.asarray(examples, dtype=np.int64)
        groups = None if self._groups is None else self._groups.take(examples)
        return Dataset(self._encoded, self.rejections, first=self._first[examples], groups=groups)

    def grouped(self, references: Collection[str]) -> Dataset:
        """Merge rows that agree in every column except the references and alignments into one example.

        Memory grows with the number of distinct examples (about 100 bytes each).
        """
        keys = [name for name, column in self.columns.items() if name not in references and not column.of]
        unknown = [name for name in references if name not in self.columns]
        if unknown or not keys:
            what = f"{unknown[0]!r} is not a column" if unknown else "no column is left to group by"
            raise RegardError(f"references: {what}; the columns are {', '.join(self.columns)}.")
        members: dict[bytes, list[int]] = {}
        for row in self._first.tolist():
            content = b"\0".join(self._encoded.texts[name][row].tobytes() for name in keys)
            members.setdefault(hashlib.blake2b(content, digest_size=16).digest(), []).append(row)
        groups = Ragged.of([np.array(rows, dtype=np.int64) for rows in members.values()])
        first = groups.values[groups.offsets[:-1]]
        return Dataset(self._encoded, self.rejections, first=first, groups=groups)


def _cached(
    rows: Iterable[Row], columns: Sequence[Column], cache: Path, on_bad: BadRows
) -> tuple[EncodedRows, Rejections]:
    naming = [column for column in columns if column.names_files]
    stamps = [stamped(all_rows(rows), naming)] if naming else []
    states = [{**column.state(), "dtype": np.dtype(column.dtype).str} for column in columns]
    folder = cache / key_of(states, fingerprint(rows), on_bad, *stamps)
    if read_manifest(folder) is None:
        if folder.exists():
            warnings.warn(f"{folder}: this cache of encoded rows is damaged and is rebuilt.", stacklevel=3)
        with building(folder) as temporary:
            rejections = Rejections(on_bad)
            encoded = encode_rows(rows, columns, folder=temporary, bad=rejections.add)
            write_rejected(temporary / REJECTED, rejections.kept)
            write_manifest(temporary, {"rows": len(encoded), "columns": [column.name for column in columns]})
    return open_encoded(folder, columns), Rejections(on_bad, read_rejected(folder / REJECTED))


def _place(rows: Iterable[Row]) -> str:
    """The files that the rows come from, if known."""
    return ", ".join(str(source.path) for source in sources_of(rows))


def _most(rejections: Rejections) -> str:
    reason, count = rejections.reasons.most_common(1)[0]
    return f"{count} because {reason}"
