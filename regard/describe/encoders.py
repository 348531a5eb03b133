"""Encoders of text on the board."""

from __future__ import annotations

from typing import Any

from regard.describe.cells import cell_equations
from regard.describe.lines import Answer, encoder_lines
from regard.describe.parents import parents_lines
from regard.spec import ConvolutionalEncoderSpec, MeanEncoderSpec, RecurrentEncoderSpec


def embedding_words(encoder: Any) -> str:
    """What is read of each unit of a text, and what of it is dropped."""
    vectors = f" from {encoder.vectors}" if encoder.vectors else ""
    characters = getattr(encoder, "characters", None)
    spelled = ""
    if characters is not None:
        ways = {
            "convolutional": f"convolution of width {characters.width}",
            "recurrent": "bidirectional LSTM",
        }
        spelled = f" beside {characters.size} from its characters ({ways[characters.type]})"
    return f"e(x_j) of {encoder.embedding}{vectors}{spelled}" + (
        f", dropout {encoder.dropout}" if encoder.dropout else ""
    )


@encoder_lines.register(RecurrentEncoderSpec)
def _recurrent(encoder: RecurrentEncoderSpec) -> Answer:
    first = "learned" if encoder.first == "learned" else "0"
    layers = f"{encoder.layers} layers, " if encoder.layers > 1 else ""
    residual = "residual, " if encoder.residual else ""
    both = " in each direction" if encoder.bidirectional else ""
    if encoder.bidirectional:
        states = "h_j = [→h_j; ←h_j]   →h_j = {0}(→h_{{j−1}}, e(x_j))   ←h_j = {0}(←h_{{j+1}}, e(x_j))"
        summary = "summary [→h_S; ←h_1]"
    else:
        states, summary = "h_j = {0}(h_{{j−1}}, e(x_j))", "summary h_S"
    return [
        states.format(encoder.cell) + f"   h_0 {first}",
        *cell_equations(encoder.cell, "h", "x", encoder.activation, encoder.update),
        f"{layers}{residual}{encoder.size} units{both}, {embedding_words(encoder)}; {summary}",
        *parents_lines(encoder.parents),
    ]


@encoder_lines.register(ConvolutionalEncoderSpec)
def _convolutional(encoder: ConvolutionalEncoderSpec) -> Answer:
    return [
        "h ← h + a ⊙ σ(b),  [a; b] = W * h   (gated convolution)   h_j starts as e(x_j) + position",
        f"{encoder.layers} layers of {encoder.size} units, width {encoder.width}, {embedding_words(encoder)}; "
        "summary mean of h",
        *parents_lines(encoder.parents),
    ]


@encoder_lines.register(MeanEncoderSpec)
def _mean(encoder: MeanEncoderSpec) -> Answer:
    return [
        f"h_j = e(x_j); summary mean of h; {embedding_words(encoder)}",
        *parents_lines(encoder.parents),
    ]
