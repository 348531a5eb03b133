"""A file as parts of some thousand rows each, in order. A row that cannot be read keeps its place, with the reason."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from regard.data.readers.files import find
from regard.data.readers.folder import picture_names
from regard.data.readers.row import Row
from regard.data.readers.rows import FileRows, read_rows
from regard.data.sources.given import Given, file_lines, input_fields, table_inputs
from regard.data.sources.inputs import InputFile, open_inputs
from regard.errors import PYTHON, RegardError, said
from regard.spec import Spec

PIECE = 1 << 20


class InputRow(NamedTuple):
    """A row of the input: the values of a model's inputs by their names; None, and a reason, if it cannot be read."""

    values: dict[str, str] | None
    file: str = ""
    line: int = 0
    folder: str = ""
    reason: str = ""

    def row(self) -> Row:
        return Row(self.values, file=self.file, line=self.line, folder=self.folder)


def input_rows(spec: Spec, file: str) -> Iterator[InputRow]:
    """The rows of a file, as a model of this spec reads them."""
    for one in _given(spec, file):
        if isinstance(one, RegardError):
            name, _, line = said(one.where, PYTHON).rpartition(":")
            place = (name, int(line)) if line.isdecimal() else (file, 0)
            yield InputRow(None, *place, reason=said(one.what, PYTHON))
        else:
            yield InputRow(dict(one), one.file, one.line, one.folder)


def _given(spec: Spec, file: str) -> Iterator[Given]:
    if os.path.isdir(file):
        return table_inputs(_folder(spec, file))
    found = open_inputs(spec, file)
    return file_lines(file, input_fields(spec)) if found is None else table_inputs(found)


def _folder(spec: Spec, file: str) -> InputFile:
    """A folder in the format of the training data, else one of images."""
    try:
        found = open_inputs(spec, file)
        if found is not None:
            return found
    except RegardError:
        if len(spec.inputs) > 1 or not picture_names(Path(file)):
            raise
    rows = read_rows(file, fields=["image"], format="folder")
    assert isinstance(rows, FileRows)
    return InputFile(rows, {next(iter(spec.inputs)): "image"})


def content_digest(file: str) -> str:
    """A hash of every byte of a file; of the names and sizes in a folder."""
    digest = hashlib.blake2b(digest_size=16)
    if os.path.isdir(file):
        for name in picture_names(Path(file)):
            digest.update(f"{name} {os.path.getsize(os.path.join(file, name))}\n".encode())
        return digest.hexdigest()
    with find(file).open("rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
