"""Set the weights of two recurrent networks of one linear unit: one sums, one compares two totals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import torch

from regard.course.exercises.exercise import (
    Answer,
    Exercise,
    GradedQuestion,
    Unanswered,
    Wrong,
    close,
    numbers,
)
from regard.nn import make_cell
from regard.nn.cells import Cell
from regard.parts import find

TEMPLATE = '''"""Set the weights of two recurrent networks by hand. Each has one linear unit:

    h_t = W x_t + U h_{t-1} + b,  h_0 = 0,      y = V h_T + c   at the end

Replace each ... by numbers, then:  regard exercise summing THIS_FILE.py
"""

# 1. y is the sum of all inputs x_1 ... x_T. One input: every weight is one number.
SUM = {"W": ..., "U": ..., "b": ..., "V": ..., "c": ...}

# 2. Two inputs at each step. y > 0 where the first input has the larger total, y < 0 where the second has.
COMPARE = {"W": [..., ...], "U": ..., "b": ..., "V": ..., "c": ...}
'''
LONGEST = 6


def _network(weights: object, inputs: int, what: str) -> tuple[Cell, float, float]:
    """A regard cell with the student's weights, and the weight and bias of the output."""
    if not isinstance(weights, dict):
        raise Wrong(f"{what} is a {type(weights).__name__}; expected a mapping with W, U, b, V, c.")
    if missing := [name for name in ("W", "U", "b", "V", "c") if name not in weights]:
        raise Wrong(f"{what} lacks {', '.join(missing)}.")
    shapes = {"W": (inputs,) if inputs > 1 else (), "U": (), "b": (), "V": (), "c": ()}
    if inputs > 1 and isinstance(weights["W"], list) and ... in weights["W"]:
        raise Unanswered(f"{what}['W']")
    given = {name: numbers(weights[name], shape, f"{what}[{name!r}]") for name, shape in shapes.items()}
    cell = make_cell(find("cell", "rnn").Options(activation="identity"), inputs, 1).double()
    with torch.no_grad():
        cell.weight_ih.copy_(torch.tensor(given["W"]).reshape(1, inputs))
        cell.weight_hh.copy_(torch.tensor(given["U"]).reshape(1, 1))
        cell.bias_ih.copy_(torch.tensor(given["b"]).reshape(1))
        cell.bias_hh.zero_()
    return cell, float(given["V"]), float(given["c"])


@torch.no_grad()
def _run(network: tuple[Cell, float, float], rows: np.ndarray) -> np.ndarray:
    """y for rows (B, T, inputs)."""
    cell, V, c = network
    state = torch.zeros(len(rows), 1, dtype=torch.float64)
    for step in torch.tensor(rows, dtype=torch.float64).transpose(0, 1):
        state = cell(step, state)
    return V * state[:, 0].numpy() + c


def _sums(answer: Answer) -> None:
    network = _network(answer.SUM, 1, "SUM")
    for length in range(1, LONGEST + 1):
        rows = list(itertools.product((Fraction(-3, 4), Fraction(2), Fraction(0)), repeat=length))
        for row, found in zip(rows, _run(network, np.array(rows, dtype=float)[..., None]), strict=True):
            close(found, float(sum(row)), f"the sum of {[float(one) for one in row]}")


def _compares(answer: Answer) -> None:
    network = _network(answer.COMPARE, 2, "COMPARE")
    pairs = ((1.0, 0.5), (0.25, 1.0), (-1.0, 0.0), (0.999, 1.0))
    for length in range(1, LONGEST):
        rows = np.array(list(itertools.product(pairs, repeat=length)))
        totals = rows.sum(1)
        for row, total, y in zip(rows, totals, _run(network, rows), strict=True):
            if total[0] != total[1] and not (y > 0 if total[0] > total[1] else y < 0):
                larger = "first" if total[0] > total[1] else "second"
                raise Wrong(f"for the inputs {row.tolist()} the {larger} total is larger, and y = {y:g}.")


EXERCISE = Exercise(
    name="summing",
    title="Set the weights of an RNN that sums, and of one that compares",
    entries=("000.8", "000.9"),
    task="A recurrent network of one linear unit can add up what it reads. Which five numbers make it do so? And which "
    "make a unit with two inputs tell which of them has the larger total?",
    template=TEMPLATE,
    questions=(
        GradedQuestion(
            "SUM adds up every sequence of up to six numbers",
            ("SUM",),
            _sums,
            "What must become of the state when the next input is 0? And how much must an input of 1 add to it?",
        ),
        GradedQuestion(
            "COMPARE tells which total is larger, for every sequence of up to five pairs",
            ("COMPARE",),
            _compares,
            "The unit can sum a single number for each pair. Which number of a pair says how far the first is ahead?",
        ),
    ),
)
