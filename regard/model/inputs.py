"""What a person gives a model to read, as a row of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

from numpy.typing import NDArray
from PIL.Image import Image

from regard.data import Row
from regard.data.columns import Column
from regard.errors import RegardError

Value = str | PathLike[str] | bytes | NDArray[Any] | Image | tuple[NDArray[Any], int]
Input = Value | Mapping[str, Value]
"""One input: its text, or a mapping from the inputs' names where there are several. A picture, film or sound is a path,
the bytes of a file, or an array; a picture may be a Pillow picture, and samples of a sound come with their rate."""


def one_or_several(inputs: Input | Sequence[Input]) -> tuple[Sequence[Input], bool]:
    """The inputs, and whether there was one: samples with their rate are one, though a pair."""
    sound = isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[1], int)
    if sound or isinstance(inputs, str | bytes) or not isinstance(inputs, Sequence):
        return [cast(Input, inputs)], True
    return cast(Sequence[Input], inputs), False


def input_row(value: Input, columns: Mapping[str, Column], number: int = 0) -> Row:
    """An input as a row; columns: those of the inputs, by name."""
    if not isinstance(value, Mapping):
        if len(columns) > 1:
            raise RegardError(
                f"this model reads {', '.join(columns)}; received one text.",
                fix=f"Pass a mapping: {{{', '.join(f'{name!r}: …' for name in columns)}}}.",
            )
        value = {next(iter(columns)): value}
    unknown = [name for name in value if name not in columns]
    if unknown:
        raise RegardError(f"no input {unknown[0]!r}.", fix=f"The inputs are {', '.join(columns)}.")
    values = {columns[name].field: columns[name].written(one) for name, one in value.items()}
    if isinstance(value, Row) and value.file:  # read from a file, whose line a mistake is to name
        return Row(values, file=value.file, line=value.line)
    return Row(values, file="input", line=number)
