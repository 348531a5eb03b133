"""A source of rows: those of files, or some of the rows of another source."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from regard.data.readers.row import Row
from regard.errors import Words


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
