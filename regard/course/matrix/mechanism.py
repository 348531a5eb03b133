"""The mechanisms: all ways to connect an encoder to a decoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Mechanism:
    """One row of a matrix.

    what        what it does, in one line
    ways        how the encoding reaches a decoder without attention: `decoder.condition`
    attention   the options of this attention: score, selection, guide
    uses_truth  whether it uses the true alignment, in training or always
    """

    name: str
    what: str
    ways: tuple[str, ...] = ()
    attention: dict[str, Any] = field(default_factory=dict)
    uses_truth: bool = False

    @property
    def looks(self) -> bool:
        """Whether it is an attention."""
        return bool(self.attention)


MECHANISMS = (
    Mechanism("start", "the encoding is the decoder's first state", ("start",)),
    Mechanism("every-step", "the encoding is an input of every step", ("every-step",)),
    Mechanism("both", "the encoding is the first state and an input of every step", ("start", "every-step")),
    Mechanism("first-input", "the encoding is read before the first word", ("first-input",)),
    Mechanism("output", "the encoding is concatenated with the state before the output layer", ("output",)),
    Mechanism("gate", "the encoding gates the state before the output layer", ("gate",)),
    Mechanism("uniform", "attention with fixed weights 1/n", attention={"select": "uniform"}),
    Mechanism("additive", "softmax attention, additive score", attention={"score": "additive"}),
    Mechanism("dot", "softmax attention, dot product of state and memory", attention={"score": "dot"}),
    Mechanism(
        "general", "softmax attention, bilinear product of state and memory", attention={"score": "general"}
    ),
    Mechanism(
        "local", "softmax attention within a window with a predicted center", attention={"select": "local"}
    ),
    Mechanism(
        "hard", "one sampled position, trained with the score-function gradient", attention={"select": "hard"}
    ),
    Mechanism("sigmoid", "an independent sigmoid weight for each position", attention={"select": "sigmoid"}),
    Mechanism(
        "segments", "segments of neighboring positions: a binary chain", attention={"select": "segments"}
    ),
    Mechanism(
        "guided",
        "additive attention, trained toward the true alignment",
        attention={"guide": 1.0},
        uses_truth=True,
    ),
    Mechanism("oracle", "the true alignment as attention", attention={"select": "oracle"}, uses_truth=True),
)
"""The ways in which an encoding reaches a decoder."""

NAMES = tuple(mechanism.name for mechanism in MECHANISMS)
