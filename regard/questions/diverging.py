"""Where two models diverge: the first output piece in which they differ, and what each looked at there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.model import Model
from regard.questions.probe import Probe
from regard.trace.prediction import Prediction


@dataclass(frozen=True)
class DivergingSide:
    """One of two models where they diverge.

    prediction   its own answer
    piece        what it writes at this step
    own          p of its piece; `other`: p that it gives to the other's piece; None if it cannot write it
    looked       (S) by input, its attention at this step; `positions`: the names of the positions
    """

    prediction: Prediction
    piece: str
    own: float
    other: float | None
    looked: Mapping[str, np.ndarray]
    positions: Mapping[str, tuple[str, ...]]

    def most(self, count: int = 3) -> list[tuple[str, str, float]]:
        """(input, position, weight) of the most attended positions."""
        every = [
            (name, self.positions[name][place], float(weight))
            for name, row in self.looked.items()
            for place, weight in enumerate(row)
        ]
        return sorted(every, key=lambda one: -one[2])[:count]

    def to_dict(self) -> dict[str, Any]:
        """The side for JSON."""
        return {
            "text": self.prediction.text,
            "piece": self.piece,
            "own": self.own,
            "other": self.other,
            "looked": {name: [round(float(one), 6) for one in row] for name, row in self.looked.items()},
            "positions": {name: list(names) for name, names in self.positions.items()},
        }


@dataclass(frozen=True)
class Divergence:
    """The first piece in which two answers differ; `step` is None if they are the same.

    common   the pieces before it
    """

    step: int | None
    common: tuple[str, ...]
    first: DivergingSide
    second: DivergingSide

    def to_dict(self) -> dict[str, Any]:
        """The divergence for JSON."""
        return {
            "step": self.step,
            "common": list(self.common),
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
        }

    def told(self, first: str = "the first", second: str = "the second") -> list[str]:
        """Lines for a reader; the arguments name the models."""
        if self.step is None:
            return [f"{first} and {second} give the same answer."]
        after = f" after {' '.join(self.common)!r}" if self.common else ""
        lines = [f"they differ first at piece {self.step}{after}:"]
        for name, side, theirs in ((first, self.first, self.second), (second, self.second, self.first)):
            looked = ", ".join(f"{position} {weight:.2f}" for _, position, weight in side.most())
            other = "which it cannot write" if side.other is None else f"p {side.other:.2g}"
            lines.append(
                f"  {name} says {side.piece!r} (p {side.own:.2g}; {theirs.piece!r}: {other})"
                + (f", looking at {looked}" if looked else "")
            )
        return lines

    def __str__(self) -> str:
        return "\n".join(self.told())


def diverging(first: Model, second: Model, value: Any, *, output: str | None = None) -> Divergence:
    """The first output piece in which two models differ about one input, what each looked at there, and the probability
    that each gives to the other's piece.

    value    one input, as in `model.predict`
    output   the name of the output, if the models have several
    """
    probes = [
        Probe(model, value, output=output, where="diverging", attends=False) for model in (first, second)
    ]
    one, two = probes
    if one.stepwise != two.stepwise:
        raise RegardError("the models write outputs of different kinds.", where="diverging")
    pairs = zip(one.pieces, two.pieces, strict=False)
    step = next((place for place, (mine, other) in enumerate(pairs) if mine != other), None)
    if step is None and len(one.pieces) != len(two.pieces):
        step = min(len(one.pieces), len(two.pieces))
    at = min(len(one.pieces), len(two.pieces)) - 1 if step is None else step
    sides = [_side(mine, other, at) for mine, other in ((one, two), (two, one))]
    return Divergence(step, tuple(one.pieces[:at]), *sides)


def _side(mine: Probe, other: Probe, step: int) -> DivergingSide:
    at = min(step, len(mine.pieces) - 1)
    piece, theirs = mine.pieces[at], other.pieces[min(step, len(other.pieces) - 1)]
    own = mine.probability(at, piece)
    return DivergingSide(
        prediction=mine.prediction,
        piece=piece,
        own=math.nan if own is None else own,
        other=own if piece == theirs else mine.probability(at, theirs),
        looked={
            name: rows[min(at, len(rows) - 1)] for name, rows in mine.trace.attention.items() if len(rows)
        },
        positions={name: tuple(map(str, mine.trace.input[name])) for name in mine.trace.attention},
    )
