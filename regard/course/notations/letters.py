"""The letters of a lecture: how it writes states, weights and attention, and the parameters it prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CELLS = {"rnn": "h", "gru": "rzn", "lstm": "ifgo"}
"""The gates of a cell in the order of its rows, in the letters of our board."""


@dataclass(frozen=True)
class Letters:
    """The differences between the notation of a lecture and ours.

    gates      {cell: {our gate: superscript of its weights}}; the candidate has none
    inside     {cell: {our letter in the function of a cell: the lecture's}}; `decoder` adds those of a decoder
    score      {our letter: the lecture's} of an additive score; `general` is W in s·W h
    weight     an attention weight; `scored` the score it comes from; `context` the sum
    bias       the bias of the output layer, whose matrix is `output`; `language` that of a language model
    position   the index of source positions; `step` that of output steps
    input      the letter of the matrix of a cell's input; `state` that of its state
    value      the state at a source position; `vector` the embedding of its word
    above      whether positions and steps stand above: h^(j)
    encoders   the encoders that the lecture writes; `selections` the ways to attend
    condition  whether probabilities name what they are conditioned on: P(y_t|y_1^{t−1}, x)
    parameters the line *Parameters* of each application, as the slides print it: {(encoder, decoder): letters}
    written    the cells that the lecture writes equations of; `unbiased`: those without a bias
    remarks    where the lecture departs from our boards
    """

    gates: Mapping[str, Mapping[str, str]]
    inside: Mapping[str, Mapping[str, str]]
    decoder: Mapping[str, str] = field(default_factory=dict)
    score: Mapping[str, str] = field(default_factory=dict)
    general: str = "W_a"
    weight: str = "α_tj"
    scored: str = "e_tj"
    context: str = "c"
    bias: str = "b"
    language: str = "c"
    output: str = "V"
    position: str = "j"
    step: str = "t"
    input: str = "U"
    state: str = "W"
    value: str = "h"
    vector: str = "x"
    above: bool = False
    encoders: tuple[str, ...] = ("recurrent", "image")
    selections: tuple[str, ...] = ("softmax",)
    condition: bool = False
    parameters: Mapping[tuple[str, str], str] = field(default_factory=dict)
    written: tuple[str, ...] = tuple(CELLS)
    unbiased: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


PLAIN = {"r": "r", "z": "z", "n": ""}
LSTM = {"i": "i", "f": "f", "o": "o", "g": ""}
NAMES = {"rnn": "a plain RNN", "gru": "a GRU", "lstm": "an LSTM"}
TWO = "a cell here has two biases, b for the input and d for the state; the slide has "
