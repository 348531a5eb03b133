"""A row of the data, its location and its values, and the sources that rows come from."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from regard.errors import RegardError, Words

LISTED = "\ufdd0"
"""Follows each text of a list. This code point is a Unicode noncharacter, reserved for internal use."""
OBJECT = "\ufdd1"
"""Follows an object, or a list of objects, in JSON; a noncharacter too."""
WITHIN = "\x1f"
"""Separates the words of a text that is a list itself. It is white space to `str.split`."""


class Row(dict[str, str]):
    """Field → text; missing fields are absent.

    file, line   where it was read: its first line, counted from 1; 0 if there are no lines
    problem      why it could not be read, to follow the location in a message ("is not UTF-8: …"); None if it was read
    source       the row as written, kept if it could not be read
    group        the key it shares with other rows of its file, such as a story; "" if it stands alone
    folder       the folder or archive in which files it names are searched first; "": beside its own file
    """

    __slots__ = ("file", "folder", "group", "line", "problem", "source")

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        *,
        file: str = "",
        line: int = 0,
        problem: str | None = None,
        source: str = "",
        folder: str = "",
        group: str = "",
    ) -> None:
        if values:
            self.update(values)
        self.file, self.line, self.problem, self.source = file, line, problem, source
        self.folder, self.group = folder, group

    @property
    def where(self) -> str:
        """file:line"""
        return f"{self.file}:{self.line}" if self.line else self.file


class RowSource(Iterable[Row]):
    """Rows that are read anew in each iteration.

    It knows the files that it reads, however many sources it is made of; they are opened by `read_rows`.
    """

    @abstractmethod
    def with_problems(self) -> Iterator[Row]:
        """All rows; unreadable ones have a `problem`."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of what determines the rows."""

    @property
    @abstractmethod
    def sources(self) -> list[Any]:
        """The `FileRows` that it reads."""

    def blocks(self, *, problems: bool) -> Iterator[Any] | None:
        """All rows as blocks (`regard.data.blocks`), if the files are large and can be read so.

        problems   True: with unreadable rows, as `with_problems`; False: without, as in an iteration
        """
        return None

    def remarks(self) -> list[Words]:
        """Remarks on how the rows are read and selected."""
        return [remark for source in self.sources for remark in source.remarks()]


class SomeRows(RowSource):
    """Some of the rows of another source, or of a list."""

    rows: Iterable[Row]

    @property
    def sources(self) -> list[Any]:
        return sources_of(self.rows)

    def remarks(self) -> list[Words]:
        return remarks_of(self.rows)


def sources_of(rows: Iterable[Row]) -> list[Any]:
    """The `FileRows` from which some rows come; none for rows in memory."""
    return rows.sources if isinstance(rows, RowSource) else []


def remarks_of(rows: Iterable[Row]) -> list[Words]:
    """Remarks on how the files of some rows are read; none for rows in memory."""
    return rows.remarks() if isinstance(rows, RowSource) else []


def all_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, with the unreadable ones."""
    return rows.with_problems() if isinstance(rows, RowSource) else iter(rows)


def blocks_of(rows: Iterable[Row], *, problems: bool) -> Iterator[Any] | None:
    """The rows as blocks, if they can be read so."""
    return rows.blocks(problems=problems) if isinstance(rows, RowSource) else None


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


def listed_texts(value: Any) -> str | None:
    """["Mary left.", "It rained."], or sentences as lists of words, as one text; None for other lists.

    A list of no texts is LISTED alone, which no column accepts: each says what it lacks.
    """
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return None
    texts = [text if isinstance(text, str) else _words(text) for text in value]
    if any(text is None for text in texts):
        return None
    return "".join(f"{text}{LISTED}" for text in texts) or LISTED


def readable(value: str) -> str:
    """A value as people read it: the texts of a list side by side."""
    return " ".join(value.split(LISTED)).strip() if LISTED in value else value


def listed_turns(value: Any) -> str | None:
    """[{"speaker": "U", "text": "hi"}, …], the turns of a dialog, as JSON; None for other lists."""
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return None
    turns = all("text" in one or "speaker" in one for one in value)
    return f"{json.dumps(value, ensure_ascii=False)}{LISTED}" if turns else None


def object_text(value: Any) -> str | None:
    """An object, or a list of objects, as JSON, for the columns that read `objects`; None for anything else."""
    several = isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value)
    if not several and not isinstance(value, Mapping):
        return None
    try:
        return f"{json.dumps(value, ensure_ascii=False)}{OBJECT}"
    except (TypeError, ValueError):
        return None  # bytes, for instance


def _words(value: Any) -> str | None:
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        return None
    return WITHIN.join(value) if all(isinstance(word, str) for word in value) else None
