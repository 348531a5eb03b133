"""Tab-separated values: a row a line, no quotes and no escapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.cells import Header
from regard.data.readers.lines import read_lines, without_last_blank_lines
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.parts import register


@register("reader", "tsv")
class TsvReader(Reader):
    """A row a line, its cells between tabs."""

    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".tab")

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        header = None
        for line in without_last_blank_lines(read_lines(path)):
            cells = line.text.split("\t")
            if header is None:
                header = Header(cells, fields, path, "tab-separated")
                if header.present and line.problem is None:
                    continue
            if line.problem:
                yield Row(file=str(path), line=line.number, problem=line.problem, source=line.text)
            elif not line.text:
                yield Row(file=str(path), line=line.number, problem="is a blank line")
            else:
                yield header.row(cells, line.number, line.text)
