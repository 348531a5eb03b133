"""The inputs in a file for a trained model, row by row; one that cannot be read keeps its place as an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any

from regard.data.readers.files import Line, find, opened, stream_lines
from regard.data.readers.json_documents import refuse_constant
from regard.data.readers.json_values import as_text, dig, has_half_pair
from regard.data.readers.row import Row
from regard.data.sources.inputs import InputFile
from regard.errors import RegardError
from regard.spec import Spec

Given = Row | RegardError
"""An input, as a row whose fields are the names of the inputs; or why it cannot be read."""


def input_fields(spec: Spec) -> dict[str, str]:
    """The field of each input, by the name of the input."""
    return {name: column.field or name for name, column in spec.inputs.items()}


def table_inputs(found: InputFile) -> Iterator[Given]:
    """The inputs of a file in a format that `train` reads."""
    for row in found.rows.with_problems():
        missing = next((field for field in found.fields.values() if field not in row), None)
        if row.problem is not None or missing is not None:
            what = f"the row {row.problem}" if row.problem is not None else f"{missing} is missing"
            fix = (
                "Correct the row." if row.problem else f"Every row needs {', '.join(found.fields.values())}."
            )
            yield RegardError(f"{what}.", where=row.where, fix=fix)
            continue
        values = {name: row[field] for name, field in found.fields.items()}
        yield Row(values, file=row.file, line=row.line, folder=row.folder)


def file_lines(file: str, fields: Mapping[str, str]) -> Iterator[Given]:
    """The inputs of a file of plain text, one per line."""
    with opened(find(file)) as stream:
        yield from line_inputs(stream, file, fields)


def line_inputs(stream: IO[bytes] | Any, name: str, fields: Mapping[str, str]) -> Iterator[Given]:
    """The inputs of lines of text, or of JSON."""
    for line in stream_lines(stream):
        try:
            yield _line_input(line, name, fields)
        except RegardError as error:
            yield error


def _line_input(line: Line, name: str, fields: Mapping[str, str]) -> Row:
    where = f"{name}:{line.number}"
    if line.problem:
        raise RegardError(f"the line {line.problem}.", where=where)
    value = parse_line(line.text, where, fields)
    values = value if isinstance(value, dict) else {next(iter(fields)): value}
    return Row(values, file=name, line=line.number)


def parse_line(line: str, where: str, fields: Mapping[str, str]) -> Any:
    """The text of a line, or a mapping by input names if the line is JSON that contains them, or has cells for them.

    fields   {input: its field}
    """
    if not line.strip():
        raise RegardError("the line is empty.", where=where, fix="Remove it, or put an input there.")
    if not line.lstrip().startswith("{"):
        return line if len(fields) == 1 else _cells(line, where, list(fields))
    try:
        # Numbers keep their notation.
        record = json.loads(line, parse_int=str, parse_float=str, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        if len(fields) == 1:
            return line
        raise RegardError(f"this is not JSON: {error}.", where=where) from None
    found: dict[str, Any] = {}
    for name, field in fields.items():
        keys = [key for key in (field, name) if key in record or dig(record, key) is not None]
        if keys:
            found[name] = json_text(dig(record, keys[0]), keys[0], where)
    if not found and len(fields) == 1:
        return line  # a text that happens to be JSON
    missing = [name for name in fields if name not in found]
    if missing:
        raise RegardError(
            f"the input {missing[0]!r} is missing; the line has {', '.join(record) or 'nothing'}.",
            where=where,
            fix=f"Every line needs {', '.join(fields.values())}.",
        )
    return found


def _cells(line: str, where: str, names: list[str]) -> dict[str, str]:
    """The inputs of a model that has several, from a line with tabs between them."""
    cells = line.split("\t")
    if len(cells) != len(names):
        count = "1 text" if len(cells) == 1 else f"{len(cells)} texts"
        example = json.dumps(dict.fromkeys(names, "…"), ensure_ascii=False)
        raise RegardError(
            f"this model reads {', '.join(names)}; received {count}.",
            where=where,
            fix=f"Put a tab between the inputs, or write JSON: {example}",
        )
    return dict(zip(names, cells, strict=True))


def json_text(value: Any, name: str, where: str) -> Any:
    """A JSON value as data: texts, numbers and booleans as written, lists for arrays."""
    text = as_text(value)
    if text is None and (value is None or isinstance(value, dict)):
        raise RegardError(
            f"{name!r} is {'null' if value is None else 'an object'}, expected a text.",
            where=where,
            fix="Give a text, or leave the line out.",
        )
    if has_half_pair(json.dumps(value, ensure_ascii=False) if text is None else text):
        raise RegardError(
            f"{name!r} has an unpaired surrogate, which is not a character.",
            where=where,
            fix="Correct the text, or leave the line out.",
        )
    return value if text is None else text
