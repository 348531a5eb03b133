"""Files of inputs for a trained model, read as its training data were."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from regard.data.readers import FileRows, read_rows
from regard.data.readers.files import find, read_lines
from regard.data.readers.layout import find_layout, sample_of
from regard.data.readers.reader import Reader, joined
from regard.data.readers.rows import reader_of
from regard.data.sources.splits import file_fields, format_for
from regard.errors import RegardError
from regard.spec import Spec

ONE = ["input"]
"""A single field, with which a file of plain text is one text per line."""


class InputFile(NamedTuple):
    """The rows of a file, and the field of each input."""

    rows: FileRows
    fields: dict[str, str]


def open_inputs(spec: Spec, file: str) -> InputFile | None:
    """The inputs in a file, in the format of the spec's data or that of the extension; None for lines of plain text.

    The file may contain the spec's other columns too, and may call an input by its name instead of its field.
    """
    format = format_for(spec, file)
    if _is_plain(file, format):
        if not _has_tabs(file):
            return None
        format = "table"
    named = {name: column.field or name for name, column in spec.inputs.items()}
    own = {name: name for name in spec.inputs}
    every = file_fields(spec)
    errors: list[RegardError] = []
    found: list[InputFile] = []
    for fields, wanted in ((named, list(named.values())), (own, list(own)), (named, every)):
        rows = read_rows(
            file, fields=list(dict.fromkeys(wanted)), format=format, images=spec.data.images_of(None)
        )
        assert isinstance(rows, FileRows)
        try:
            first = next((row for row in rows.with_problems() if row.problem is None), None)
        except RegardError as error:
            errors.append(error)
            continue
        if first is not None and all(field in first for field in fields.values()):
            return InputFile(rows, fields)
        found.append(InputFile(rows, fields))
    if found:  # each row reports what it lacks
        return found[0]
    raise errors[0]


def _is_plain(file: str, format: str | Reader | None) -> bool:
    """Whether the file is plain text: its extension promises no other format, and it is not in that of the data."""
    if Path(file).is_dir() or len(joined(file)) > 1:
        return False
    if not reader_of(file, None, ONE).plain:
        return False
    reader = reader_of(file, format, ONE)
    return reader.plain or not type(reader).recognizes(find(file))


def _has_tabs(file: str) -> bool:
    """Whether plain text is a table with tabs between its cells."""
    sample, whole = sample_of(read_lines(find(file)))
    layout = find_layout(sample, (), whole=whole)
    return layout.found and layout.delimiter == "tab"
