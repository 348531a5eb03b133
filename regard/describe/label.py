"""The label decoder on the board."""

from __future__ import annotations

from regard.describe.attention import attention_equations
from regard.describe.lines import Answer, decoder_lines, loss_line, weighted
from regard.spec import LabelDecoderSpec


@decoder_lines.register(LabelDecoderSpec)
def _label(decoder: LabelDecoderSpec) -> Answer:
    lines = ["p(y) = softmax(V s + b)   s = " + ("c" if decoder.attention else "the summary")]
    if decoder.attention:
        lines.append(attention_equations(decoder.attention, "q") + "   q learned")
    return lines


@loss_line.register(LabelDecoderSpec)
def _loss(decoder: LabelDecoderSpec) -> str:
    return "−log p(y | x)" + weighted(decoder.class_weights)
