"""Comma-separated values with quotes as in RFC 4180: a quoted cell may hold commas, quotes and line ends."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.cells import Header
from regard.data.readers.lines import Line, read_lines, without_last_blank_lines
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.parts import register


class _Record:
    """The lines the parser has taken for the row it is working on."""

    def __init__(self, path: Path) -> None:
        self.lines: list[Line] = []
        self._source = without_last_blank_lines(read_lines(path))

    def __iter__(self) -> Iterator[str]:
        for line in self._source:
            self.lines.append(line)
            yield line.text + "\n"

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def problem(self) -> str | None:
        return next((line.problem for line in self.lines if line.problem), None)


@register("reader", "csv")
class CsvReader(Reader):
    """Comma-separated values; a row's line is the one it begins on."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        record = _Record(path)
        parser = csv.reader(record, strict=True)
        header = None
        while True:
            record.lines.clear()
            try:
                cells = next(parser)
                problem = record.problem
            except StopIteration:
                return
            except csv.Error as error:
                cells, problem = [], f"is not valid CSV: {error}"
            first = record.lines[0].number
            if header is None and problem is None:
                header = Header(cells, fields, path, "comma-separated")
                if header.present:
                    continue
            if problem is None and not cells:
                problem = "is a blank line"
            if problem or header is None:
                yield Row(file=str(path), line=first, problem=problem, source=record.text)
            else:
                yield header.row(cells, first, record.text)
