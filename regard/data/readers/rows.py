"""Rows: everything a path, several paths or a hub name holds, as often as one iterates."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from regard.data.contents import inside
from regard.data.readers.babi import read_babi
from regard.data.readers.conll import read_conll
from regard.data.readers.conllu import read_conllu
from regard.data.readers.csv import read_csv
from regard.data.readers.folder import picture_names
from regard.data.readers.hub import PREFIX, read_hub
from regard.data.readers.jsonl import read_jsonl
from regard.data.readers.opening import find, kind
from regard.data.readers.parallel import read_parallel
from regard.data.readers.parquet import read_parquet
from regard.data.readers.pictured import (
    PICTURED,
    Pictured,
    beside,
    pictured_files,
    pictures_in,
    read_pictured,
)
from regard.data.readers.row import Row
from regard.data.readers.skeletons import read_skeletons
from regard.data.readers.tsv import read_tsv
from regard.data.readers.wavs import read_wavs
from regard.errors import RegardError

Format = (
    Literal["tsv", "csv", "jsonl", "parquet", "conllu", "conll", "babi", "text", "skeletons", "wavs"]
    | Pictured
)
BadRows = Literal["stop", "skip"]

FORMATS: dict[str, Format] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".conllu": "conllu",
    ".conll": "conll",
}
READERS: dict[str, Callable[[Path, Sequence[str]], Iterator[Row]]] = {
    "tsv": read_tsv,
    "csv": read_csv,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "conllu": read_conllu,
    "conll": read_conll,
    "babi": read_babi,
    "skeletons": read_skeletons,
    "wavs": read_wavs,
}
FOLDERS = ("skeletons", "wavs")
"""Formats that are read from a folder; that of pictures (`folder`) may be an archive too."""
SKIP_HINT = "Correct the row, or set bad_rows: skip (--bad-rows skip) to go on without it."


class Rows(Iterable[Row]):
    """The rows of one source, read anew each time one iterates; nothing is kept in memory."""

    def __init__(
        self,
        path: str,
        fields: Sequence[str],
        *,
        format: Format | None,
        bad_rows: BadRows,
        images: str | None = None,
    ) -> None:
        self.path, self.fields, self.bad_rows, self.images = path, list(fields), bad_rows, images
        self.hub = path.startswith(PREFIX)
        self.files = [] if self.hub else files_of(path, format)
        self.format = None if self.hub else format or format_of(path, self.files, self.fields)

    def __iter__(self) -> Iterator[Row]:
        for row in self.with_problems():
            if row.problem is None:
                yield row
            elif self.bad_rows == "stop":
                raise RegardError(f"the row {row.problem}.", where=row.where, fix=SKIP_HINT)

    def with_problems(self) -> Iterator[Row]:
        """All rows, those that could not be read with their `problem`."""
        folder = pictures_in(self.format, self.files, self.images)
        if not folder:
            yield from self._read()
            return
        for row in self._read():
            row.folder = folder
            yield row

    def _read(self) -> Iterator[Row]:
        if self.hub:
            return read_hub(self.path, self.fields)
        if self.format in PICTURED:
            return read_pictured(self.format, self.files, self.fields, self.images)
        if self.format == "text" or len(self.files) > 1:
            return read_parallel(self.files, self.fields)
        return READERS[self.format or "tsv"](self.files[0], self.fields)

    def fingerprint(self) -> str:
        """A hash of the names and of every byte of the files: what the rows depend on."""
        made_of = self.path, self.format, self.fields, *([self.images] if self.images else [])
        digest = hashlib.blake2b(repr(made_of).encode(), digest_size=16)
        if self.hub:
            for row in self.with_problems():
                digest.update(repr((sorted(row.items()), row.problem)).encode())
        for file in [*self.files, *beside(self.format, self.files)]:
            if file.is_dir():
                names = sorted(os.listdir(file)) if self.format in FOLDERS else picture_names(file)
                digest.update("\n".join(names).encode(errors="surrogateescape"))
                continue
            digest.update(hashlib.blake2b(str(file.stat().st_size).encode()).digest())
            with file.open("rb") as stream:
                while part := stream.read(1 << 20):
                    digest.update(part)
        return digest.hexdigest()


class ManyRows(Iterable[Row]):
    """Several sources, one after the other."""

    def __init__(self, sources: Sequence[Rows]) -> None:
        self.sources = list(sources)

    def __iter__(self) -> Iterator[Row]:
        for source in self.sources:
            yield from source

    def with_problems(self) -> Iterator[Row]:
        for source in self.sources:
            yield from source.with_problems()

    def fingerprint(self) -> str:
        return hashlib.blake2b(
            "\n".join(s.fingerprint() for s in self.sources).encode(), digest_size=16
        ).hexdigest()


def files_of(path: str, format: Format | None) -> list[Path]:
    """One file, or several joined with + (unless a file of that very name exists); a folder of pictures."""
    if format in PICTURED:
        return pictured_files(path, format)
    if format in FOLDERS and Path(path).is_dir():
        return [Path(path)]
    if "+" not in path or Path(path).exists():
        return [find(path)]
    return [find(part) for part in path.split("+")]


def format_of(path: str, files: Sequence[Path], fields: Sequence[str]) -> Format:
    if len(files) > 1:
        return "text"
    known = FORMATS.get(kind(files[0]))
    if known:
        return known
    if len(fields) == 1:
        return "text"
    raise RegardError(
        f"the name does not tell the format: {kind(files[0]) or 'no extension'}.",
        where=path,
        fix=f"Rename it to one of {', '.join(FORMATS)} (.gz, .xz, .zst may follow), or join parallel files with +.",
    )


def read_rows(
    path: str | Path | Sequence[str | Path],
    *,
    fields: Sequence[str],
    format: Format | None = None,
    bad_rows: BadRows = "stop",
    images: str | None = None,
) -> Rows | ManyRows:
    """The rows of a file, of parallel files "a.en+a.de", of `hf:name[:config]:split`, or of several of these.

    fields     those wanted, in the order of the cells where there is no header
    format     told by the extension, unless given
    bad_rows   what iterating does with rows that cannot be read: stop with an error, or skip them. A `Dataset` sees
               them in any case and follows its own `on_bad`.

    images     the folder or zip archive of the pictures that rows name; beside the file when absent

    Files are read as a stream, anew for each iteration; that they exist is checked at once.
    """
    if images is not None and not os.path.exists(images) and not inside(images)[0]:
        raise RegardError("there is no such folder or archive.", where=images, fix="Correct data.images.")

    def rows(one: str | Path) -> Rows:
        return Rows(str(one), fields, format=format, bad_rows=bad_rows, images=images)

    return rows(path) if isinstance(path, str | Path) else ManyRows([rows(one) for one in path])


def values(rows: Iterable[Row], *fields: str) -> Iterator[str]:
    """The texts of some fields, blank and missing ones left out: what a column learns from."""
    for row in rows:
        for field in fields:
            text = row.get(field)
            if text and text.strip():
                yield text
