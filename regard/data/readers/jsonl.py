"""JSON lines: one object per line. A file that is one list of objects is read too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from regard.data.readers.entries import Entries, Entry, left_out
from regard.data.readers.files import BLANK, read_lines
from regard.data.readers.json_documents import json_values, parsed
from regard.data.readers.json_values import as_text, dig, fields_of, row_of
from regard.data.readers.reader import Field, Reader
from regard.data.readers.row import Row
from regard.parts import register

SAMPLE = 100
"""Number of objects that are searched for field names."""


@register("reader", "jsonl")
class JsonLinesReader(Reader):
    """JSON lines: one object per line; or a list of objects. A field "a.b" is the field b of an object a; numbers keep
    their notation."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")
    lines: ClassVar[bool] = True
    adds_column: ClassVar[bool] = True

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        for found in json_values(path):
            problem = found.problem or _problem(found.value)
            if problem is not None:
                yield Row(file=str(path), line=found.line, problem=problem, source=found.source)
            else:
                yield row_of(found.value, fields, file=str(path), line=found.line, source=found.source)

    def found(self, files: Sequence[Path]) -> list[Field]:
        values = islice(json_values(files[0]), SAMPLE)
        return fields_of(one.value for one in values if one.problem is None and not _problem(one.value))

    def entries(self, path: Path, fields: Sequence[str], new: str = "") -> Entries:
        return Entries(_entries(path, fields[0], new))


def _entries(path: Path, field: str, new: str) -> Iterator[Entry]:
    for line in read_lines(path):
        problem, record = (line.problem, None) if line.problem else parse(line.text)
        if problem == BLANK:
            continue
        text = as_text(dig(record, field)) if record is not None else None
        if record is None:
            yield Entry(line.number, {}, left_out, f"the line {problem}")
            continue
        if text is None:
            null = field in record or dig(record, field) is not None
            problem = f"{field!r} holds no text" if null else f"the object has no {field!r}"
            yield Entry(line.number, {}, left_out, problem, f"It has {', '.join(record)}." if record else "")
            continue

        def written(values: Mapping[str, str], source: str = line.text) -> str:
            whole = json.loads(source)  # numbers stay numbers, to be written back unchanged
            return json.dumps({**whole, new: values[new]}, ensure_ascii=False) + "\n"

        yield Entry(line.number, {field: text}, written)


def parse(text: str) -> tuple[str | None, dict[str, Any] | None]:
    """The problem of a line, or its object."""
    problem, value = parsed(text)
    problem = problem or _problem(value)
    return (None, value) if problem is None else (problem, None)


def _problem(value: Any) -> str | None:
    """Why a value is not an object, to follow its location in a message."""
    if isinstance(value, dict):
        return None
    kind = {list: "list", str: "string", bool: "truth value", type(None): "null"}.get(type(value), "value")
    return f'is a JSON {kind}, expected an object such as {{"field": "text"}}'
