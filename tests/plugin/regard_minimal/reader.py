"""Lines of a sentence, an arrow and a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import regard
from regard.data import Row
from regard.data.readers import Entries, Entry, Reader, read_lines


@regard.register("reader", "arrows")
class ArrowsReader(Reader):
    """`sentence -> value` on each line."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrows",)
    about: ClassVar[str] = "a file of arrows"
    fields: ClassVar[tuple[str, ...]] = ("sentence", "value")
    replaces: ClassVar[tuple[str, ...]] = ("value",)

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        for line in read_lines(files[0]):
            sentence, _, value = line.text.partition(" -> ")
            yield Row({"sentence": sentence, "value": value}, file=str(files[0]), line=line.number)

    def entries(self, path: Path, fields: Sequence[str], new: str = "") -> Entries:
        def pieces() -> Iterator[Entry]:
            for row in self.read([path], fields):
                yield Entry(row.line, row, partial(_written, row))

        return Entries(pieces())


def _written(row: Row, new: Mapping[str, str]) -> str:
    return f"{row['sentence']} -> {new['value']}\n"
