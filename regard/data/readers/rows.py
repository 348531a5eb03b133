"""The rows of a path, several paths or a hub name; iterable repeatedly."""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regard.data.digests import IN_PARTS, digest_in_one, digest_of
from regard.data.readers.files import (
    ARCHIVE,
    BLANK,
    NOT_UTF8,
    OTHER_ENCODING,
    find,
    inside,
    kind,
    members,
    read_lines,
)
from regard.data.readers.reader import Field, Reader, joined
from regard.data.readers.row import Row, RowSource
from regard.errors import Message, RegardError, Setting, Words
from regard.parts import as_data, choose, names, part
from regard.storage.files import is_remote

if TYPE_CHECKING:
    from regard.data.blocks.block import RowBlock

JSON = (".json", ".jsonl", ".ndjson")
MOST_LINES = 2000
"""Number of lines among which a blank one is searched."""
BadRows = Literal["stop", "skip"]
"""What to do with a row that cannot be read."""

SKIP_HINT = Message(
    "Correct the row, or set bad_rows: skip (", Setting("data.bad_rows", "skip"), ") to go on without it."
)


LARGE = 1 << 24
"""Bytes of a file from which on its digest is remembered."""
Stamps = tuple[tuple[str, int, int], ...]
_DIGESTS: dict[Stamps, str] = {}
"""The digests of large files of this process, until they change."""


def _stamps(files: Sequence[Path]) -> Stamps | None:
    """Name, size and time of each file; None if they are not large files, or not files."""
    try:
        found = [(str(path), path.stat()) for path in files]
    except OSError:
        return None
    if not found or not all(stat.S_ISREG(one.st_mode) and one.st_size >= LARGE for _, one in found):
        return None
    return tuple((path, one.st_size, one.st_mtime_ns) for path, one in found)


class FileRows(RowSource):
    """The rows of one source, read anew in each iteration; nothing is kept in memory."""

    def __init__(
        self,
        path: str,
        fields: Sequence[str],
        *,
        format: str | Reader | None,
        bad_rows: BadRows,
        images: str | None = None,
    ) -> None:
        self.path, self.fields, self.bad_rows, self.images = path, list(fields), bad_rows, images
        self.reader = reader_of(path, format, self.fields)
        self.files = self.reader.files(path)
        self._urls = dict(zip(map(str, self.files), joined(path), strict=False)) if is_remote(path) else {}
        self._blank: int | None = None

    @property
    def sources(self) -> list[FileRows]:
        return [self]

    def __iter__(self) -> Iterator[Row]:
        return (row for row in self.with_problems() if self._readable(row))

    def _readable(self, row: Row) -> bool:
        """Whether a row could be read; raises an error if it could not and no row is to be skipped."""
        if row.problem is None or self.bad_rows != "stop":
            return row.problem is None
        other = row.problem.startswith(NOT_UTF8)
        fix = Message(f"{OTHER_ENCODING}. Else: ", SKIP_HINT) if other else SKIP_HINT
        raise RegardError(f"the row {row.problem}.", where=row.where, fix=fix)

    def with_problems(self) -> Iterator[Row]:
        """All rows. Unreadable ones have a `problem`; blank lines are skipped."""
        self.reader.check(self.fields, self.path)
        folder = self.images or self.reader.images_in(self.files)
        blank = 0
        for row in self._read():
            if not isinstance(row, Row):
                raise RegardError(
                    f"the reader {self.reader.type}: read yielded a {type(row).__name__}, expected a Row.",
                    where=self.path,
                    fix="Yield regard.data.Row(values, file=…, line=…).",
                )
            if row.problem == BLANK:
                blank += 1
                continue
            if folder:
                row.folder = folder
            yield row
        self._blank = blank

    def blocks(self, *, problems: bool) -> Iterator[RowBlock] | None:
        self.reader.check(self.fields, self.path)
        if self._urls or self.images or self.reader.images_in(self.files):
            return None
        made = self.reader.blocks(self.files, self.fields)
        return None if made is None else self._without_blank(made, problems)

    def _without_blank(self, blocks: Iterable[RowBlock], problems: bool) -> Iterator[RowBlock]:
        blank = 0
        for block in blocks:
            odd = [one for one in block.odd if one[1].problem != BLANK]
            blank += len(block.odd) - len(odd)
            if not problems:
                odd = [one for one in odd if self._readable(one[1])]
            yield replace(block, odd=odd)
        self._blank = blank

    def _read(self) -> Iterator[Row]:
        """The rows of the reader; those of a copy are named by its URL."""
        with self._named():
            for row in self.reader.read(self.files, self.fields, images=self.images):
                if self._urls and isinstance(row, Row):
                    row.file = self._urls.get(row.file, row.file)
                yield row

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name remote files by their URLs in errors, not by their copies."""
        try:
            yield
        except RegardError as error:
            if not self._urls:
                raise
            from regard.data.remote.names import renamed

            said = (renamed(words, self._urls) for words in (error.what, error.where, error.fix))
            what, where, fix = said
            raise RegardError(what, where=where, fix=fix) from None

    @property
    def blank(self) -> int:
        """Number of skipped blank lines."""
        if not self.reader.lines:
            return 0
        blocks = self.blocks(problems=True)
        if blocks is not None:
            from regard.data.known import known

            return int(known(self, "blank lines", lambda: self._counted(blocks)))
        return self._counted(self.with_problems())

    def _counted(self, everything: Iterable[Any]) -> int:
        """The number of blank lines that a pass over everything has found, or now finds."""
        if self._blank is None:
            for _ in everything:
                pass
        return self._blank or 0

    def found(self) -> list[Field]:
        """All fields of the source, whether read or not; empty if the format does not determine them."""
        with self._named():
            return self.reader.found(self.files)

    def remarks(self) -> list[Words]:
        """Remarks on how the rows are read."""
        told = self.reader.remarks(self.files, self.fields)
        if self._urls:
            from regard.data.remote.names import renamed

            told = [renamed(one, self._urls) for one in told]
        if self.blank:
            lines = "blank line was" if self.blank == 1 else "blank lines were"
            told.append(f"{self.path}: {self.blank:,} {lines} skipped.")
        return told

    def digest(self) -> str:
        """A hash of every byte of the files, regardless of their location and the fields read."""
        stamps = _stamps(self.files) if self.reader.lines else None
        if stamps not in _DIGESTS:
            digest = digest_of(self.reader.content(self.files, self.fields))
            if stamps is None or stamps != _stamps(self.files):
                return digest
            _DIGESTS[stamps] = digest
        return _DIGESTS[stamps]

    def is_as(self, digest: str) -> bool:
        """Whether this is the `digest` of the files, as this version or an earlier one wrote it."""
        now = self.digest()
        if now.startswith(IN_PARTS) and not digest.startswith(IN_PARTS):
            now = digest_in_one(self.reader.content(self.files, self.fields))
        return now == digest

    def fingerprint(self) -> str:
        """A hash of the names and every byte of the files, which determine the rows."""
        options = {key: value for key, value in as_data(self.reader).items() if key != "type"}
        chosen = [item for item in (self.images, options) if item]
        made_of = self.path, self.reader.type, self.fields, *chosen
        content = f"{made_of!r} {self.digest()}"
        return hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=16).hexdigest()


class ManyRows(RowSource):
    """Several sources, one after the other."""

    def __init__(self, sources: Sequence[FileRows]) -> None:
        self._sources = list(sources)

    @property
    def sources(self) -> list[FileRows]:
        return self._sources

    def __iter__(self) -> Iterator[Row]:
        for source in self.sources:
            yield from source

    def with_problems(self) -> Iterator[Row]:
        for source in self.sources:
            yield from source.with_problems()

    def blocks(self, *, problems: bool) -> Iterator[RowBlock] | None:
        made = [source.blocks(problems=problems) for source in self.sources]
        return None if any(one is None for one in made) else chain.from_iterable(one for one in made if one)

    def fingerprint(self) -> str:
        return hashlib.blake2b(
            "\n".join(s.fingerprint() for s in self.sources).encode(), digest_size=16
        ).hexdigest()


def reader_of(path: str, format: str | Reader | None, fields: Sequence[str]) -> Reader:
    """The reader for a path: by prefix, by the given format, or else by the file itself."""
    readers: list[type[Reader]] = [part("reader", name) for name in names("reader")]
    for reader in readers:
        if reader.prefix and path.startswith(reader.prefix) and not is_remote(path):
            return reader()
    if isinstance(format, Reader):
        return format
    if format is None and len(joined(path)) > 1:
        format = "text"
    if format is None:
        format = format_of(find(path), readers, fields)
    named: Reader = choose("reader", format, {})
    return named


def format_of(file: Path, readers: Sequence[type[Reader]], fields: Sequence[str]) -> str:
    """The only reader for the extension of a file; for other files, `text` (a single field) or `table`."""
    suffix = kind(file)
    if suffix == ".zip" and file.is_file():
        inner = [name for name in members(str(file)) if not name.endswith("/")]
        raise RegardError(
            f"this is an archive of {', '.join(inner[:8])}{', …' if len(inner) > 8 else ''}.",
            where=str(file),
            fix=f"Name a file inside it: {file}/{max(inner, key=len, default='FILE')}",
        )
    claimed = [reader.type for reader in readers if suffix in reader.suffixes]
    if claimed == ["table"] and len(fields) == 1:
        return "text"
    if len(claimed) == 1:
        return claimed[0]
    if claimed:
        raise RegardError(
            f"the readers {' and '.join(claimed)} both read {suffix} files.",
            where=str(file),
            fix=f"Choose one: format: {claimed[0]}",
        )
    return "text" if len(fields) == 1 else "table"


def recognized(path: str, fields: Sequence[str]) -> str | None:
    """The format of a file or folder by its content, if that is another than its extension says."""
    readers: list[type[Reader]] = [part("reader", name) for name in names("reader")]
    if len(joined(path)) > 1 or (
        not is_remote(path) and any(path.startswith(one.prefix) for one in readers if one.prefix)
    ):
        return None
    place = Path(path) if Path(path).is_dir() else find(path)
    content = _content(place)
    asked = [one for one in readers if one.recognized_in is None or content in one.recognized_in]
    found = next((one.type for one in asked if one.recognizes(place)), None)
    if found is None or place.is_dir() or place.suffix == ARCHIVE:
        return found
    return None if found == reader_of(path, None, fields).type else found


def _content(path: Path) -> str:
    """What a reader may declare in `recognized_in`; "" for anything else."""
    if path.is_dir():
        return "folder"
    if not path.is_file():
        return ""
    if zipfile.is_zipfile(path):
        return "folder"
    if kind(path) in JSON:
        return "json"
    lines = dropwhile(str.strip, (line.text for line in islice(read_lines(path), MOST_LINES)))
    return "blocks" if any(map(str.strip, lines)) else ""


def read_rows(
    path: str | Path | Sequence[str | Path],
    *,
    fields: Sequence[str],
    format: str | Reader | None = None,
    bad_rows: BadRows = "stop",
    images: str | None = None,
) -> FileRows | ManyRows:
    """The rows of a file, of parallel files "a.en+a.de", of `hf:name[:config]:split`, of a URL, or of several of these.

    fields     the wanted fields, in the order of the cells if there is no header
    format     the name of a reader, or a reader; default: by the extension
    bad_rows   what iteration does with unreadable rows: stop with an error, or skip them. A `Dataset` sees them in any
               case and follows its own `on_bad`.
    images     the folder or zip archive of the images that rows name; default: beside the file

    Files are streamed anew in each iteration; missing files raise an error at once.
    """
    images = str(find(images)) if images is not None and is_remote(images) else images
    if images is not None and not os.path.exists(images) and not inside(images)[0]:
        raise RegardError("there is no such folder or archive.", where=images, fix="Correct data.images.")

    def rows(one: str | Path) -> FileRows:
        return FileRows(str(one), fields, format=format, bad_rows=bad_rows, images=images)

    return rows(path) if isinstance(path, str | Path) else ManyRows([rows(one) for one in path])


def values(rows: Iterable[Row], *fields: str) -> Iterator[str]:
    """The texts of some fields, without blank and missing ones, to fit a column to."""
    for row in rows:
        for field in fields:
            text = row.get(field)
            if text and text.strip():
                yield text
