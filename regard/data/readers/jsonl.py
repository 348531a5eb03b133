"""JSON lines: one object per line. A file that is one list of objects is read too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from regard.data.readers.json_documents import json_values, parsed
from regard.data.readers.json_values import fields_of, row_of
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
