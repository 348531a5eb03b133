"""The letters of the lectures: how each deck writes states, weights and attention, and the parameters it prints."""

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
    bias       the bias of the output layer, whose matrix is `output`
    position   the index of source positions; `step` that of output steps
    input      the letter of the matrix of a cell's input; `state` that of its state
    value      the state at a source position; `vector` the embedding of its word
    above      whether positions and steps stand above: h^(j)
    encoders   the encoders that the lecture writes; `selections` the ways to attend
    condition  whether probabilities name what they are conditioned on: P(y_t|y_1^{t−1}, x)
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
    remarks: tuple[str, ...] = ()


PLAIN = {"r": "r", "z": "z", "n": ""}
LSTM = {"i": "i", "f": "f", "o": "o", "g": ""}
ONE = "a cell here has two biases, b for the input and d for the state; the slide has one, their sum"

SERIES = Letters(
    gates={"gru": PLAIN, "lstm": {"i": "i", "f": "f", "o": "o", "g": "g"}, "rnn": {"h": ""}},
    inside={"gru": {}, "lstm": {"m": "c", "m′": "c′"}, "rnn": {}},
    weight="α_ij",
    scored="α̃_ij",
    output="v",
    step="i",
    input="u",
    state="w",
    above=True,
    remarks=(
        "the slide has u, w and v of a network of one unit, and stacks the gates of an LSTM into one W",
    ),
)
"""The notation of decks 000 and 001, which share the slides on attention."""

LECTURES = {
    "000": SERIES,
    "001": SERIES,
    "002": Letters(
        gates={"gru": PLAIN, "lstm": LSTM, "rnn": {"h": ""}},
        inside={"gru": {}, "lstm": {}, "rnn": {}},
        general="W_θ",
        score={"v_a·": "v_θ·", "U_a": "U_θ", "W_a": "W_θ"},
        weight="p_t(z = i)",
        scored="θ_ti",
        position="i",
        value="x",
        vector="e",
        selections=("softmax", "segments"),
        remarks=("the query q of the slide is the state s that the score reads",),
    ),
    "003": Letters(
        gates={"gru": PLAIN, "lstm": LSTM, "rnn": {"h": ""}},
        inside={"gru": {"n": "h̃"}, "lstm": {"g": "c̃", "m": "c", "m′": "c′"}, "rnn": {}},
        weight="α_ti",
        scored="e_ti",
        context="C",
        bias="c",
        position="i",
    ),
    "004": Letters(
        gates={"gru": {"r": "o", "z": "i", "n": ""}, "lstm": LSTM, "rnn": {"h": ""}},
        inside={"gru": {"r": "o", "z": "i", "n": "s̃"}, "lstm": {"g": "s̃", "m": "s", "m′": "s′"}, "rnn": {}},
        decoder={"h": "s"},
        score={"v_a·": "V_attnᵀ ", "U_a": "W_attn", "W_a": "U_attn"},
        general="W_attn",
        weight="α_jt",
        scored="e_jt",
        encoders=("recurrent", "image", "video", "hierarchical"),
        condition=True,
    ),
}
"""The lectures that name their symbols."""

PARAMETERS = {
    ("recurrent", "recurrent"): "U_dec, V, W_dec, U_enc, W_enc, b",
    ("recurrent", "attention"): "U_dec, V, W_dec, U_enc, W_enc, b, U_attn, V_attn",
    ("image", "recurrent"): "U_dec, V, W_dec, W_conv, b",
    ("video", "recurrent"): "U_dec, W_dec, V, b, W_conv, U_enc, W_enc, b",
    ("video", "label"): "V, b, W_conv, U_enc, W_enc, b",
    ("question", "label"): "V, b, U_q, W_q, W_conv, b",
    ("hierarchical", "label"): "W_enc^1, U_enc^1, W_enc^2, U_enc^2, V, b",
    ("hierarchical", "attention"): "W_w, W_s, V, b_w, b_s, b, u_w, u_s",
}
"""The line *Parameters* of each application, as deck 004 prints it: {(encoder, decoder): letters}."""
