"""Masked inputs: words that become unknown, and regions of an image that become its mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.data import Batch, Tokens
from regard.data.batch import UNKNOWN
from regard.data.media import Images
from regard.errors import RegardError
from regard.model.edits.edit import WHERE, Edit, MaskEdit


def masked(batch: Batch, edits: Sequence[Sequence[Edit]], inputs: Sequence[str]) -> Batch:
    """The batch, with the masks of each row; `inputs` are the model's."""
    columns: dict[str, Any] = {}
    for number, row in enumerate(edits):
        for one in row:
            if isinstance(one, MaskEdit):
                name = _input_of(one, inputs)
                columns[name] = _masked(columns.get(name, batch[name]), number, one, name)
    return replace(batch, columns={**batch.columns, **columns}) if columns else batch


def _input_of(edit: MaskEdit, inputs: Sequence[str]) -> str:
    if edit.input is None and len(inputs) == 1:
        return inputs[0]
    if edit.input is None or edit.input not in inputs:
        cause = "the mask names no input" if edit.input is None else f"there is no input {edit.input!r}"
        raise RegardError(f"{cause}.", where=WHERE, fix=f"The inputs are {', '.join(inputs)}.")
    return edit.input


def _masked(value: Any, number: int, edit: MaskEdit, name: str) -> Any:
    if isinstance(value, Images) and edit.box is not None:
        return _filled(value, number, edit.box)
    if isinstance(value, Tokens) and edit.box is None:
        return _unknown(value, number, edit.positions, name)
    kind = "regions of an image" if edit.box is not None else "words of a text"
    raise RegardError(f"the input {name!r} has no {kind} to mask.", where=WHERE)


def _unknown(tokens: Tokens, number: int, positions: Sequence[int], name: str) -> Tokens:
    length = int(tokens.lengths[number])
    if max(positions) >= length:
        raise RegardError(
            f"there is no position {max(positions)}; the positions of {name!r} are 0 to {length - 1}.",
            where=WHERE,
        )
    changed: Mapping[str, Any] = {"ids": _with(tokens.ids, number, positions, UNKNOWN)}
    if tokens.spelling is not None:
        raise RegardError(
            f"the words of {name!r} are read by their letters: none of them is unknown.", where=WHERE
        )
    if tokens.cut is not None:
        changed = {**changed, "cut": tokens.cut.forgotten(number, positions, tokens.ids.shape[1])}
    if tokens.verbatim is not None:
        keys = _with(
            tokens.verbatim.keys, number, positions, -1
        )  # no piece has this key: it cannot be copied
        changed = {**changed, "verbatim": replace(tokens.verbatim, keys=keys)}
    return replace(tokens, **changed)


def _with(table: Any, number: int, positions: Sequence[int], value: int) -> Any:
    table = table.clone()
    table[number, list(positions)] = value
    return table


def _filled(images: Images, number: int, box: Sequence[float]) -> Images:
    pixels = images.pixels.clone()
    _, _, height, width = pixels.shape
    left, top, right, bottom = box
    mean = pixels[number].double().mean((1, 2)).round().to(pixels.dtype)
    columns = slice(round(left * width), max(round(right * width), round(left * width) + 1))
    rows = slice(round(top * height), max(round(bottom * height), round(top * height) + 1))
    pixels[number, :, rows, columns] = mean[:, None, None]
    return Images(pixels)
