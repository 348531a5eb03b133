"""JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from regard.data.readers.json_values import fields_of, row_of
from regard.data.readers.lines import BLANK, read_lines, without_last_blank_lines
from regard.data.readers.reader import Field, Reader
from regard.data.readers.row import Row
from regard.parts import register

SAMPLE = 100
"""Number of lines that are searched for field names."""


@register("reader", "jsonl")
class JsonLinesReader(Reader):
    """JSON lines: one object per line. A field "a.b" is the field b of an object a; numbers keep their notation."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")
    lines: ClassVar[bool] = True

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        for line in without_last_blank_lines(read_lines(path)):
            problem, record = line.problem, None
            if problem is None:
                problem, record = parse(line.text)
            if record is None:
                yield Row(file=str(path), line=line.number, problem=problem, source=line.text)
            else:
                yield row_of(record, fields, file=str(path), line=line.number, source=line.text)

    def found(self, files: Sequence[Path]) -> list[Field]:
        lines = islice(read_lines(files[0]), SAMPLE)
        return fields_of(parse(line.text)[1] or {} for line in lines if not line.problem)


def parse(text: str) -> tuple[str | None, dict[str, Any] | None]:
    """The problem of a line, or its object."""
    if not text.strip():
        return BLANK, None
    try:
        record = json.loads(
            text,
            object_pairs_hook=_without_twice,
            parse_int=str,
            parse_float=str,
            parse_constant=refuse_constant,
        )
    except json.JSONDecodeError as error:
        return f"is not valid JSON: {error.msg} at character {error.pos + 1}", None
    except (ValueError, RecursionError) as error:
        return f"is not valid JSON: {error}", None
    if not isinstance(record, dict):
        kind = {list: "list", str: "string", bool: "truth value", type(None): "null"}.get(
            type(record), "value"
        )
        return f'is a JSON {kind}, expected an object such as {{"field": "text"}}', None
    return None, record


def _without_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} comes twice")
    return record


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")
