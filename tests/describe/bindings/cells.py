"""Cells, recurrent layers and attentions."""

from __future__ import annotations

from typing import Any

import torch

from regard.nn.attention import Attention
from regard.nn.cells import Cell, DeepCell, GRUCell, JordanCell, LSTMCell, MultiplicativeCell
from regard.nn.recurrence import RecurrentLayer
from regard.nn.scores import Additive, General, History, Linear, Location, Perceptron, ScaledDot
from regard.nn.selections import Local, Segmental
from regard.testing.board import Family

Binding = dict[str, Any]
"""{symbol: its number, tensor or structure}"""

LETTERS = {"W": "weight_ih", "U": "weight_hh", "b": "bias_ih", "c": "bias_hh"}


def of_cell(cell: Cell, mark: str) -> Binding:
    """mark: the cell's subscript, joined by commas: `→`, `1,→`, `y`."""
    several = {GRUCell: "rzn", LSTMCell: "ifgo", MultiplicativeCell: "mh"}
    gates, found = several.get(type(cell), "h"), {}
    for letter, name in LETTERS.items():
        weight = getattr(cell, name)
        for gate, piece in zip(gates, weight.chunk(len(gates)), strict=True):
            found[f"{letter}_{{{gate},{mark}}}"] = piece
    if isinstance(cell, JordanCell):
        found |= {f"V_{{h,{mark}}}": cell.write.weight, f"d_{{h,{mark}}}": cell.write.bias}
    if isinstance(cell, DeepCell):
        for letter, first, layers in (("A", 1, cell.before), ("T", 2, cell.within), ("O", 1, cell.after)):
            for number, layer in enumerate(layers, first):
                below = f"{{{number},{mark}}}"
                found |= {f"{letter}_{below}": layer.weight, f"{letter.lower()}_{below}": layer.bias}
        if cell.skip is not None:
            found[f"R_{{{mark}}}"] = cell.skip.weight
    return found


def of_layer(
    layer: RecurrentLayer,
    *,
    letter: str = "h",
    carried: str = "m",
    at: str = "",
    mark: str = "",
    places: tuple[str, str] = ("0", "S+1"),
) -> Binding:
    """at, mark: subscripts of the states and the cell, before position and direction, with a final comma.

    A layer of one direction has no arrows; with an empty `mark` its cell has the subscript x.
    """
    found, both = {}, len(layer.cells) == 2
    places = places[::-1] if layer.backward else places
    for number, arrow in enumerate(("→", "←") if both else ("",)):
        found |= of_cell(layer.cell(number), (mark + arrow).strip(",") or "x")
        if layer.first.requires_grad or layer.first.abs().sum() > 0:
            pieces = layer.first[number].split(layer.cell(0).size)
            for name, piece in zip((letter, carried), pieces, strict=False):
                found[f"{arrow}{name}_{{{at}{places[number]}}}"] = piece
    return found


def of_attention(attention: Attention, mark: str = "a") -> Binding:
    score, select, found = attention.score, attention.select, {}
    if select.learns and isinstance(score, Additive):
        found |= {"v": score.vector, "U": score.query.weight, "W": score.key.weight}
        found |= {} if score.key.bias is None else {"d": score.key.bias}
    if select.learns and isinstance(score, Perceptron):
        found |= {"U": score.query.weight, "c": score.query.bias}
        found |= {"W": score.key.weight, "d": score.key.bias}
    if isinstance(score, Location):
        found |= {"V": score.place.weight}
    if isinstance(score, History) and select.learns:
        found |= {"g": score.before}
    if isinstance(score, General):
        found |= {"W": score.key.weight}
    if isinstance(score, Linear):
        found |= {"w": score.vector}
    if isinstance(score, ScaledDot) and select.learns:
        found |= {"D": torch.tensor(attention.query_size)}
    if isinstance(select, Segmental):
        found |= {"b": Family(select.transitions, (0, 0))}
    if isinstance(select, Local) and not select.monotonic:
        found |= {"r": select.center.weight[0], "C": select.hidden.weight}
    named = {f"{letter}_{mark}": weight for letter, weight in found.items()}
    if isinstance(score, Location):
        named[f"F_{mark}{mark.replace('a', 'ι')}"] = score.filters
    return named
