"""The inputs of a request: typed text, a row of the run's data, or an upload."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.studio.requests import FromRow, FromUpload, Given
from regard.studio.runs import Run

if TYPE_CHECKING:
    from regard.data import Dataset


@dataclass(frozen=True)
class GivenInputs:
    """What a model is asked about.

    values    the value of each input, as `Model.predict` takes it
    row       the row of the data that all inputs are from, with its truth; None if there is none
    dataset   the rows, if `row` is one of them
    split     of the row
    key       equal for equal inputs
    """

    values: Mapping[str, Any]
    row: int | None
    dataset: Dataset | None
    split: str
    key: Hashable

    @property
    def alone(self) -> Any:
        """The value of the only input, or the mapping of several."""
        return next(iter(self.values.values())) if len(self.values) == 1 else dict(self.values)

    def true(self, output: str) -> list[str]:
        """The true outputs of the row; empty if they are not known."""
        if self.row is None or self.dataset is None or output not in self.dataset.columns:
            return []
        return self.dataset.references(self.row, output)


def resolved(run: Run, given: Mapping[str, Given]) -> GivenInputs:
    """The inputs of a request, for a run that answers inputs."""
    names = list(run.model.spec.inputs)
    unknown = next((name for name in given if name not in names), None)
    lacking = next((name for name in names if name not in given), None)
    if unknown is not None or lacking is not None:
        told = f"no input {unknown!r}." if unknown is not None else f"the input {lacking!r} is missing."
        raise RegardError(told, where="inputs", fix=f"The inputs are {', '.join(names)}.")
    rows = {(one.row, one.split or run.usual_split) for one in given.values() if isinstance(one, FromRow)}
    whole = len(rows) == 1 and all(isinstance(one, FromRow) for one in given.values())
    values = {name: _value(run, name, given[name]) for name in names}
    key = tuple((name, _key(run, given[name])) for name in names)
    if not whole:
        return GivenInputs(values, None, None, "", key)
    ((row, split),) = rows
    return GivenInputs(values, row, run.dataset(split), split, key)


def row_of(run: Run, row: int, split: str | None) -> Mapping[str, str]:
    """A row of the data, as written: column → text."""
    dataset = run.dataset(split)
    if row >= len(dataset):
        raise RegardError(
            f"there is no row {row}.",
            where="row",
            fix=f"{split or run.usual_split} has 0 to {len(dataset) - 1}.",
        )
    return dataset.raw(row)


def _value(run: Run, name: str, given: Given) -> Any:
    column = run.model.columns[name]
    if isinstance(given, FromRow):
        return row_of(run, given.row, given.split)[name]
    if isinstance(given, FromUpload):
        return _uploaded(run, name, given.upload)
    if column.names_files and not _is_numbers(given):
        raise RegardError(
            "a text would name a file; the page does not open files.",
            where=name,
            fix="Drop a file on the page, or choose a row of the data.",
        )
    return given


def _is_numbers(text: str) -> bool:
    """Whether it is a list of numbers, which names no file."""
    if not text.lstrip().startswith("["):
        return False
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _uploaded(run: Run, name: str, identifier: str) -> bytes:
    column, upload = run.model.columns[name], run.uploads.find(identifier)
    fits = {"image": ("image", "video"), "video": ("video",), "audio": ("audio",)}[upload.media]
    if not column.can_be(*fits):
        raise RegardError(
            f"{name!r} is of type {column.type}; the file is {upload.media}.",
            where=name,
            fix="Drop a file of that type.",
        )
    return upload.content


def _key(run: Run, given: Given) -> Hashable:
    if isinstance(given, FromRow):
        return "row", given.row, given.split or run.usual_split
    return ("upload", given.upload) if isinstance(given, FromUpload) else ("text", given)
