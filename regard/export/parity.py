"""Whether exported programs compute what the model computes, on rows of lengths that no example had."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
APART = 4
"""Where the model in single precision is itself further from double precision: how many times as far. Large scores, as
those of a trained `score: general` over a long input, make rounding so large."""
STEPS = 4
SHAPES = ((1, 1), (1, 9), (2, 2), (6, 13), (4, 64))
"""Rows and longest length of the batches that are compared."""
WIDTHS = (1, 3)
"""Hypotheses of a row."""


@dataclass
class Gap:
    """The largest difference of one kind of output, and where; and how far single precision is from double."""

    most: float
    difference: float = 0.0
    rounding: float = 0.0
    name: str = ""
    where: str = ""

    def widen(self, name: str, where: str, mine: Tensor, other: Tensor, exact: Tensor) -> None:
        difference = _difference(mine, other)
        if not difference <= self.difference:  # also if it is not a number
            self.difference, self.name, self.where = difference, name, where
        self.rounding = max(self.rounding, _difference(mine, exact))

    def check(self) -> None:
        if not self.difference <= max(self.most, APART * self.rounding):
            raise _apart(self.name, self.where, self.difference)


@dataclass
class Parity:
    """What was compared: the largest differences, and the number of rows."""

    probabilities: Gap = field(default_factory=lambda: Gap(CLOSE))
    logarithms: Gap = field(default_factory=lambda: Gap(ROUNDING))
    looks: Gap = field(default_factory=lambda: Gap(CLOSE))
    others: Gap = field(default_factory=lambda: Gap(ROUNDING))
    rows: int = 0

    @property
    def outputs(self) -> float:
        return self.probabilities.difference

    @property
    def attention(self) -> float:
        return self.looks.difference

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
                _same(graph, given, run(ANSWER, _arrays(given)), found, f"{rows} × {longest}")
            else:
                for width in WIDTHS:
                    _stepped(graphs, given, run, rows, width, found, f"{rows} × {longest}")
            found.rows += rows
    for gap in (found.probabilities, found.looks, found.logarithms, found.others):
        gap.check()
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
    known = _same(graphs.named(ENCODER), given, run(ENCODER, _arrays(given)), found, where)
    step, tokens = graphs.named(STEP), torch.full((rows, width), graphs.begin)
    for name in graphs.state:
        known[name] = known[name].repeat_interleave(width, 1)
    for number in range(STEPS):
        known |= {TOKENS: tokens, POSITION: torch.tensor(number)}
        mine = _same(step, known, run(STEP, _arrays(known)), found, f"{where}, step {number + 1}")
        known |= {name: mine[NEXT + name] for name in graphs.state}
        best = mine[LOGITS].topk(width, -1).indices
        tokens = torch.stack([best[:, place, place] for place in range(width)], 1)


def _ours(graph: ExportedGraph, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    found = graph.module(*(given[name] for name in graph.inputs))
    return dict(zip(graph.outputs, found, strict=True))


def _exactly(graph: ExportedGraph, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The outputs in double precision."""
    inputs = {name: one.double() if one.is_floating_point() else one for name, one in given.items()}
    return _ours(replace(graph, module=copy.deepcopy(graph.module).double()), inputs)


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def _same(
    graph: ExportedGraph, given: Mapping[str, Tensor], theirs: Mapping[str, Any], found: Parity, where: str
) -> dict[str, Tensor]:
    """Compare the outputs of a program with ours, and return ours."""
    ours, exact = _ours(graph, given), _exactly(graph, given)
    for name, mine in ours.items():
        other = torch.as_tensor(np.asarray(theirs[name]))
        if mine.shape != other.shape:
            raise _apart(name, where, np.inf)
        three = (mine, other, exact[name])
        if name in (LOGITS, LOGS):
            found.probabilities.widen(name, where, *(one.softmax(-1) for one in three))
            found.logarithms.widen(name, where, *(one.log_softmax(-1) for one in three))
        else:
            (found.looks if name.startswith(LOOKS) else found.others).widen(name, where, *three)
    return ours


def _difference(mine: Tensor, other: Tensor) -> float:
    """The largest difference, relative to numbers above 1; −inf equals −inf."""
    mine, other = mine.double(), other.double()
    gap = torch.where(mine == other, 0.0, (mine - other).abs() / mine.abs().clamp(min=1.0))
    return float(gap.max()) if gap.numel() else 0.0


def _apart(name: str, where: str, difference: float) -> RegardError:
    return RegardError(
        f"the exported program and the model differ by {difference:.2g} in {name} ({where}). Nothing was written.",
        where="export",
        fix="Report this, with the spec of the model.",
    )
