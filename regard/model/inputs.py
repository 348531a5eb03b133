"""Inputs given in Python, as rows of the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, cast
from weakref import ref

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image

from regard.data import Row
from regard.data.columns import Column
from regard.data.frames import columns_of, is_missing, records, value_in, values_of
from regard.errors import Message, RegardError
from regard.parts import Plan
from regard.trace.prediction import Prediction

INPUT_REMEDY = "Correct this input, or leave it out."
Value = str | PathLike[str] | bytes | NDArray[Any] | Image | tuple[NDArray[Any], int]
Input = Value | Mapping[str, Value]
"""One input: a text, or a mapping from names if there are several inputs. An image, video or audio is a path,
the bytes of a file, or an array. An image may also be a Pillow image, and audio samples come with their
rate."""


def one_or_several(
    inputs: Input | Iterable[Input], columns: Sequence[Column] = ()
) -> tuple[Sequence[Input], bool]:
    """The inputs as a sequence, and whether there is a single one; samples with their rate, a pair, are one.

    Any other iterable is several inputs: a list, a Series, an array of texts, a generator. Each row of a
    frame is an input. An array of numbers is one input: an image, a video, a series; unless the column of the only
    input says that it holds several.
    """
    sound = isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[1], int)
    if sound or isinstance(inputs, str | bytes | bytearray | memoryview | Mapping | PathLike | Image):
        return [cast(Input, inputs)], True
    if isinstance(inputs, np.ndarray):
        texts = inputs.dtype.kind in "OUST" and inputs.ndim > 0
        if len(columns) == 1 and not texts and columns[0].is_several(inputs):
            return list(inputs), False
        return (cast(Sequence[Input], inputs.tolist()), False) if texts else ([inputs], True)
    table = columns_of(inputs)
    if table is not None and len(table) == 1:
        return next(iter(table.values())), False
    if table is not None:
        rows = zip(*table.values(), strict=True)
        return [dict(zip(table, row, strict=True)) for row in rows], False
    if isinstance(inputs, Sequence):
        return cast(Sequence[Input], inputs), False
    if isinstance(inputs, Iterable) or hasattr(inputs, "to_list") or hasattr(inputs, "tolist"):
        return values_of(inputs, "inputs"), False
    return [cast(Input, inputs)], True


def input_row(value: Input, columns: Mapping[str, Column], number: int = 0) -> Row:
    """An input as a row; `columns` are those of the inputs, by name."""
    if not isinstance(value, Mapping):
        if len(columns) > 1:
            raise RegardError(
                f"this model reads {', '.join(columns)}; received a single value.",
                fix=f"Pass a mapping: {{{', '.join(f'{name!r}: …' for name in columns)}}}.",
            )
        value = {next(iter(columns)): value}
    value = _by_name(value, columns)
    read = (
        value if isinstance(value, Row) and value.file else None
    )  # from a file, whose line an error message shows
    values = {}
    for name, one in value.items():
        try:
            values[columns[name].field] = columns[name].written(_plain(one))
        except RegardError as error:
            if read is None:
                raise
            raise RegardError(
                Message(error.where, ": ", error.what), where=read.where, fix=INPUT_REMEDY
            ) from None
    return (
        Row(values, file="input", line=number)
        if read is None
        else Row(values, file=read.file, line=read.line, folder=read.folder)
    )


def _by_name(value: Mapping[str, Any], columns: Mapping[str, Column]) -> Mapping[str, Any]:
    """The inputs by name. A row of the data has them under their fields, and may have other columns."""
    if set(value) <= set(columns):
        return value
    found = {}
    for name, column in columns.items():
        one = value_in(value, column.field)
        one = value.get(name) if one is None else one
        if one is not None:
            found[name] = one
    if len(found) < len(columns):
        known = {*columns, *(column.field for column in columns.values())}
        unknown = next((name for name in value if name not in known), None)
        lacking = next(name for name in columns if name not in found)
        raise RegardError(
            f"no input {unknown!r}." if unknown is not None else f"the input {lacking!r} is missing.",
            fix=f"The inputs are {', '.join(columns)}.",
        )
    if isinstance(value, Row):
        return Row(found, file=value.file, line=value.line, folder=value.folder)
    return found


def is_files(data: Any) -> bool:
    """Whether `data` is a list of file names rather than rows."""
    return isinstance(data, list | tuple) and all(isinstance(one, str | PathLike) for one in data)


def given_rows(
    data: Any,
    y: Any,
    spec: Plan,
    columns: Mapping[str, Column],
    *,
    source: str | None = None,
    target: str | None = None,
    where: str = "data",
) -> list[Row]:
    """Rows given in Python with the fields of a spec, with values in the written form of their columns."""
    by_field = {column.field: column for column in columns.values()}
    needed = [part.field or name for name, part in {**spec.inputs, **spec.outputs}.items()]
    found = records(data, y, source=source, target=target, fields=needed, where=where)
    if not found:
        raise RegardError("there are no rows.", where=where)
    absent = [name for name in needed if name not in found[0]]
    if absent:
        raise RegardError(
            f"there is no column {absent[0]!r}; there are {', '.join(found[0])}.",
            where=where,
            fix="Rename the columns, or pass source=… and target=…."
            if len(needed) == 2
            else "Add this column.",
        )
    made = []
    for number, row in enumerate(found, 1):
        place = f"{where}, row {number}"
        for name in needed:
            if is_missing(row.get(name)) and not (name in by_field and by_field[name].may_lack):
                raise RegardError(f"the {name} is missing.", where=place, fix="Leave the row out.")
        values = {
            name: by_field[name].written(_plain(value))
            for name, value in row.items()
            if name in by_field and not is_missing(value)
        }
        made.append(Row(values, file=where, line=number))
    return made


def _plain(value: Any) -> Any:
    """Convert a numpy scalar to a Python number."""
    return value.item() if isinstance(value, np.generic) else value


class Again:
    """Asks a model once more about one input, as long as the model is in memory. A copy by pickle knows no model."""

    def __init__(self, model: Any, inputs: Any, options: Mapping[str, Any]) -> None:
        self._model, self._inputs, self._options = ref(model), inputs, dict(options)

    def __call__(self, edits: Sequence[Any] = ()) -> Prediction:
        """The prediction with these edits of the attention (`regard.model.edits`)."""
        model = self._model()
        if model is None:
            raise RegardError("the model of this prediction is not in memory any more.", fix="Predict again.")
        given = {"look": list(edits)} if edits else {}
        found: Prediction = model.predict(self._inputs, **self._options, **given)
        return found

    def __reduce__(self) -> Any:
        return _nothing, ()


def _nothing() -> None:
    return None
