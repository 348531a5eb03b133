"""Parallel text files, in which line n of each file makes row n, and single files with one text per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

from regard.data.readers.files import BLANK, find, read_lines
from regard.data.readers.reader import Reader, joined
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register


@register("reader", "text")
class TextReader(Reader):
    """Text files with one text per line: a file per field, joined with `+`. Parallel files must have equally many
    lines."""

    lines: ClassVar[bool] = True
    plain: ClassVar[bool] = True

    def files(self, path: str) -> list[Path]:
        return [find(part) for part in joined(path)]

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        if len(files) != len(fields):
            count = "one text file" if len(files) == 1 else f"{len(files)} text files"
            raise RegardError(
                f"{count} given for {len(fields)} fields ({', '.join(fields)}).",
                where="+".join(map(str, files)),
                fix="Join one file per field with +, in the order of the fields, or give a .tsv file.",
            )
        readers = [read_lines(path) for path in files]
        for number, lines in enumerate(zip_longest(*readers), start=1):
            if any(line is None for line in lines):
                counts = [
                    number - 1 if line is None else number + sum(1 for _ in reader)
                    for line, reader in zip(lines, readers, strict=True)
                ]
                listed = ", ".join(
                    f"{path} has {count} lines" for path, count in zip(files, counts, strict=True)
                )
                raise RegardError(
                    f"parallel files must have the same number of lines: {listed}.",
                    fix="Find the line that is missing.",
                )
            if not any(line.text.strip() for line in lines):
                yield Row(file=str(files[0]), line=number, problem=BLANK)
                continue
            wrong = next((place for place, line in enumerate(lines) if line.problem), None)
            if wrong is None:
                texts = {field: line.text for field, line in zip(fields, lines, strict=True)}
                yield Row(texts, file=str(files[0]), line=number)
            else:
                source = "\t".join(line.text for line in lines)
                yield Row(file=str(files[wrong]), line=number, problem=lines[wrong].problem, source=source)
