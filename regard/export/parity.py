"""Whether exported programs compute what the model computes, on rows of lengths that no example had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.export.graphs import (
    ANSWER,
    ENCODER,
    LOGITS,
    LOGS,
    LOOKS,
    NEXT,
    POSITION,
    STEP,
    TOKENS,
    ExportedGraph,
    ExportedGraphs,
)
from regard.export.inputs import ExampleInputs
from regard.nn.path import without_fast_paths

Run = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""A graph's name and its inputs → its outputs."""
CLOSE, ROUNDING = 1e-5, 1e-4
"""How much probabilities and attention weights may differ; and everything else, such as states, which single precision
rounds more."""
STEPS = 4
SHAPES = ((1, 1), (1, 9), (2, 2), (6, 13), (4, 64))
"""Rows and longest length of the batches that are compared."""
WIDTHS = (1, 3)
"""Hypotheses of a row."""


@dataclass
class Parity:
    """The largest differences of probabilities and of attention weights, and the number of compared rows."""

    outputs: float = 0.0
    attention: float = 0.0
    rows: int = 0

    def __str__(self) -> str:
        return f"{self.rows} rows: probabilities to {self.outputs:.1g}, attention to {self.attention:.1g}"


def compare(graphs: ExportedGraphs, run: Run) -> Parity:
    """Compare the programs with the modules. An error tells where they differ too much."""
    found = Parity()
    with torch.no_grad(), without_fast_paths():
        for seed, (rows, longest) in enumerate(SHAPES):
            example = ExampleInputs.made_up(graphs.recipes, _lengths(graphs.recipes, rows, longest), seed)
            given = dict(zip(example.names, example.tensors, strict=True))
            if not graphs.state:
                graph = graphs.named(ANSWER)
                _same(_ours(graph, given), run(ANSWER, _arrays(given)), found, f"{rows} × {longest}")
            else:
                for width in WIDTHS:
                    _stepped(graphs, given, run, rows, width, found, f"{rows} × {longest}")
            found.rows += rows
    return found


def _lengths(recipes: Mapping[str, Any], rows: int, longest: int) -> dict[str, list[int]]:
    found = {}
    for number, (name, recipe) in enumerate(recipes.items()):
        most = min(longest + number, recipe.get("max_length") or longest + number)
        found[name] = [most, *(1 + (5 * row + number) % most for row in range(rows - 1))]
    return found


def _stepped(
    graphs: ExportedGraphs,
    given: Mapping[str, Tensor],
    run: Run,
    rows: int,
    width: int,
    found: Parity,
    where: str,
) -> None:
    """The encoder, then some steps. Both sides take every step from our state, so that rounding does not add up."""
    known = _ours(graphs.named(ENCODER), given)
    _same(known, run(ENCODER, _arrays(given)), found, where)
    step, tokens = graphs.named(STEP), torch.full((rows, width), graphs.begin)
    for name in graphs.state:
        known[name] = known[name].repeat_interleave(width, 1)
    for number in range(STEPS):
        known |= {TOKENS: tokens, POSITION: torch.tensor(number)}
        mine = _ours(step, known)
        _same(mine, run(STEP, _arrays(known)), found, f"{where}, step {number + 1}")
        known |= {name: mine[NEXT + name] for name in graphs.state}
        best = mine[LOGITS].topk(width, -1).indices
        tokens = torch.stack([best[:, place, place] for place in range(width)], 1)


def _ours(graph: ExportedGraph, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    found = graph.module(*(given[name] for name in graph.inputs))
    return dict(zip(graph.outputs, found, strict=True))


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def _same(ours: Mapping[str, Tensor], theirs: Mapping[str, Any], found: Parity, where: str) -> None:
    for name, mine in ours.items():
        other = torch.as_tensor(np.asarray(theirs[name]))
        if mine.shape != other.shape:
            raise _apart(name, where, np.inf)
        if name in (LOGITS, LOGS):
            mine, other = mine.log_softmax(-1), other.log_softmax(-1)
            found.outputs = max(found.outputs, _checked(mine.exp(), other.exp(), name, where, CLOSE))
        elif name.startswith(LOOKS):
            found.attention = max(found.attention, _checked(mine, other, name, where, CLOSE))
        _checked(mine.double(), other.double(), name, where, ROUNDING)


def _checked(mine: Tensor, other: Tensor, name: str, where: str, most: float) -> float:
    """The largest difference, relative to numbers above 1."""
    gap = torch.where(
        mine == other, 0.0, (mine - other).abs() / mine.abs().clamp(min=1.0)
    )  # −inf equals −inf
    difference = float(gap.max()) if gap.numel() else 0.0
    if not difference <= most:
        raise _apart(name, where, difference)
    return difference


def _apart(name: str, where: str, difference: float) -> RegardError:
    return RegardError(
        f"the exported program and the model differ by {difference:.2g} in {name} ({where}). Nothing was written.",
        where="export",
        fix="Report this, with the spec of the model.",
    )
