"""Tables: a row per line, or per several lines if quotes enclose line ends. Delimiter and header are inferred."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from regard.data.readers.cells import ROWS_BELOW, Cells, assign, looks_like_header
from regard.data.readers.entries import Entries
from regard.data.readers.files import BLANK, NOT_UTF8, OTHER_ENCODING, Line, inside, read_lines
from regard.data.readers.layout import (
    SIGNS,
    Delimiter,
    Layout,
    Record,
    ends_of,
    find_layout,
    records,
    sample_of,
)
from regard.data.readers.reader import Field, Reader
from regard.data.readers.row import Row
from regard.data.readers.table_entries import table_entries
from regard.errors import Message, RegardError, Setting, Words
from regard.parts import register

if TYPE_CHECKING:
    from regard.data.blocks.block import RowBlock

LARGE = 1 << 24
"""Bytes of a file from which on it is read in blocks: what reads them is compiled first."""


class Beginning(NamedTuple):
    """The start of a table: its layout, its first and second row, the first line number, whether there is a header."""

    layout: Layout
    first: list[str]
    below: list[list[str]]
    line: int
    header: bool


@register("reader", "table")
class TableReader(Reader):
    """A table with tabs, commas, semicolons or pipes between cells; the delimiter is inferred from the file."""

    suffixes: ClassVar[tuple[str, ...]] = (".txt", ".psv", ".dat", "")
    about: ClassVar[str] = "a table"
    lines: ClassVar[bool] = True
    delimited: ClassVar[bool] = True
    adds_column: ClassVar[bool] = True
    usual: ClassVar[Delimiter | None] = None
    """The delimiter to assume if none is found; None: refuse such a file."""

    delimiter: Delimiter | None = None
    """Delimiter between cells; default: inferred."""
    quotes: bool | None = None
    """Whether quotes enclose cells with delimiters or line ends; default: inferred."""
    header: bool | None = None
    """Whether the first row names the columns; default: inferred."""

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        layout, cells = self._open(path, tuple(fields))
        header = self._beginning(path, tuple(fields)).line if cells is not None and cells.header else 0
        file = str(path)
        usual = cells.usual if cells is not None and cells.width >= layout.width else None
        for record in records(read_lines(path), layout.delimiter, layout.quotes):
            row = usual(record, file) if usual is not None and record.number != header else None
            if row is None:
                row = _other_row(record, layout, cells, header, file)
            if row is not None:
                yield row

    def blocks(self, files: Sequence[Path], fields: Sequence[str]) -> Iterator[RowBlock] | None:
        path = files[0]
        large = os.path.isfile(path) and os.path.getsize(path) >= LARGE
        if not large or any(
            "read" in vars(one) for one in type(self).__mro__ if one not in TableReader.__mro__
        ):
            return None
        from regard.data.blocks.cutting import Cut, blocks_of, suits

        layout, cells = self._open(path, tuple(fields))
        if cells is None or cells.width < layout.width or not suits(path, quotes=layout.quotes):
            return None
        places = tuple(place for place in cells.places if isinstance(place, int))
        if len(places) < len(cells.places):
            return None
        header = self._beginning(path, tuple(fields)).line if cells.header else 0
        cut = Cut(cells.fields, places, cells.width, ord(SIGNS[layout.delimiter]), layout.quotes, header)

        def look(line: Line) -> Row | None:
            for record in records([line], layout.delimiter, layout.quotes):
                row = cells.usual(record, str(path)) if record.number != header else None
                return row or _other_row(record, layout, cells, header, str(path))
            return None

        return blocks_of(path, cut, look)

    def found(self, files: Sequence[Path]) -> list[Field]:
        beginning = self._beginning(files[0], ())
        below = [beginning.first, *beginning.below] if not beginning.header else beginning.below
        return [
            Field(name.strip() if beginning.header else str(number), below[0][number - 1] if below else "")
            for number, name in enumerate(beginning.first, 1)
        ]

    def remarks(self, files: Sequence[Path], fields: Sequence[str]) -> list[Words]:
        path = files[0]
        layout, cells = self._open(path, tuple(fields))
        if cells is None:
            return []
        told: list[str] = []
        first = self._beginning(path, tuple(fields)).first
        known = [name.strip() for name in first]
        if cells.header and (not cells.named or not set(ends_of(fields, known)) <= set(known)):
            told.append(f"the first line is read as a header ({', '.join(name.strip() for name in first)})")
        if not cells.header:
            told.append("the first line is read as a row, not as a header")
        if not cells.named and len(fields) > 1:
            told.append(f"the columns are {', '.join(cells.names)}, in this order")
        said: list[Words] = []
        if layout.delimiter != self.usual:
            change = self._change(delimiter="comma" if layout.delimiter == "tab" else "tab")
            separated = f"{path}: the cells are separated by {layout.delimiter}s. To change that: "
            said.append(Message(separated, change))
        if told:
            change = self._change(header=not cells.header)
            said.append(Message(f"{path}: {'; '.join(told)}. To change that: ", change))
        return said

    def entries(self, path: Path, fields: Sequence[str], new: str = "") -> Entries:
        return table_entries(path, fields[0], new, self.usual or "tab")

    def _change(self, **option: Any) -> Setting:
        return Setting("data.format", {"type": self.type, **option})

    def _open(self, path: Path, fields: tuple[str, ...]) -> tuple[Layout, Cells | None]:
        """The layout, and the assignment of cells to fields; None for a table without rows."""
        beginning = self._beginning(path, fields)
        if not beginning.first:
            return beginning.layout, None
        width = beginning.layout.width
        cells = assign(beginning.first, fields, width=width, header=beginning.header, where=str(path))
        if self.header is False and cells.header:
            wrong = f"header: false, but only a header can locate {', '.join(fields)}"
            raise RegardError(
                f"{wrong}.",
                where=str(path),
                fix="Set `field` of each column to its number, from 1, or leave header: false out.",
            )
        return beginning.layout, cells

    def _beginning(self, path: Path, fields: tuple[str, ...]) -> Beginning:
        state = os.stat(inside(str(path))[0] or path)
        stamp = state.st_size, state.st_mtime_ns
        return _beginning(self, path, fields, stamp)


def _other_row(record: Record, layout: Layout, cells: Cells | None, header: int, file: str) -> Row | None:
    """The row of a record that is not as expected; None for the header."""
    if record.problem is None and record.is_blank(layout.width):
        return Row(file=file, line=record.number, problem=BLANK, source=record.text)
    if cells is None:
        problem = record.problem or f"is not a row of {layout.width} cells"
        return Row(file=file, line=record.number, problem=problem, source=record.text)
    return cells.row(record, file, layout.delimiter) if record.number != header else None


@lru_cache(maxsize=64)
def _beginning(reader: TableReader, path: Path, fields: tuple[str, ...], stamp: tuple[int, int]) -> Beginning:
    sample, whole = sample_of(read_lines(path))
    layout = find_layout(
        sample,
        fields,
        whole=whole,
        usual=reader.usual or "tab",
        delimiter=reader.delimiter,
        quotes=reader.quotes,
    )
    if not layout.found and reader.usual is None and reader.delimiter is None and sample:
        raise RegardError(
            "this is not a table: no tab, comma, semicolon or pipe separates its lines into columns.",
            where=str(path),
            fix="Put a tab between the columns, or join parallel files with +: source.txt+target.txt",
        )
    cut = records(sample, layout.delimiter, layout.quotes)
    rows = [one for one in cut if one.problem is not None or not one.is_blank(layout.width)]
    good = [one for one in rows if one.problem is None and len(one.cells) == layout.width]
    if not good:
        return Beginning(layout, [], [], 0, header=False)
    if reader.header is not False and (rows[0].problem or "").startswith(NOT_UTF8):
        raise RegardError(
            f"the first line, which may be a header, {rows[0].problem}.",
            where=f"{path}:{rows[0].number}",
            fix=Message(f"{OTHER_ENCODING}. If the line is a bad row: ", reader._change(header=False)),
        )
    first, below = good[0], [one.cells for one in good[1 : ROWS_BELOW + 1]]
    header = looks_like_header(first.cells, below) if reader.header is None else reader.header
    return Beginning(layout, first.cells, below[:1], first.number, header)
