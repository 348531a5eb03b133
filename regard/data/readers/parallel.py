"""Text files side by side: line n of each is row n; and a single file of one text a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from regard.data.readers.lines import read_lines
from regard.data.readers.row import Row
from regard.errors import RegardError


def read_parallel(paths: Sequence[Path], fields: Sequence[str]) -> Iterator[Row]:
    """The fields in the order of the files, which must have as many lines each."""
    if len(paths) != len(fields):
        files = "one text file" if len(paths) == 1 else f"{len(paths)} text files"
        raise RegardError(
            f"{files} given for {len(fields)} fields ({', '.join(fields)}).",
            where="+".join(map(str, paths)),
            fix="Join one file per field with +, in the order of the fields, or give a .tsv file.",
        )
    readers = [read_lines(path) for path in paths]
    for number, lines in enumerate(zip_longest(*readers), start=1):
        if any(line is None for line in lines):
            counts = [
                number - 1 if line is None else number + sum(1 for _ in reader)
                for line, reader in zip(lines, readers, strict=True)
            ]
            listed = ", ".join(f"{path} has {count} lines" for path, count in zip(paths, counts, strict=True))
            raise RegardError(
                f"parallel files must have as many lines each: {listed}.",
                fix="Find the line that is missing.",
            )
        wrong = next((place for place, line in enumerate(lines) if line.problem), None)
        if wrong is None:
            texts = {field: line.text for field, line in zip(fields, lines, strict=True)}
            yield Row(texts, file=str(paths[0]), line=number)
        else:
            source = "\t".join(line.text for line in lines)
            yield Row(file=str(paths[wrong]), line=number, problem=lines[wrong].problem, source=source)
