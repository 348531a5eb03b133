"""The label decoder on the board."""

from __future__ import annotations

from regard.describe.attention import attention_equations
from regard.describe.lines import Answer, decoder_lines, loss_line, weighted
from regard.spec import LabelDecoderSpec


@decoder_lines.register(LabelDecoderSpec)
def _label(decoder: LabelDecoderSpec) -> Answer:
    glimpses = decoder.glimpses if decoder.attention else 1
    read = "[c_1; …; c_K]" if glimpses > 1 else "c"
    state = f"{read} beside the summaries of the other inputs" if decoder.attention else "the summaries"
    written = "V s + b" if decoder.hidden is None else "V relu(W s + c) + b"
    lines = [f"p(y) = softmax({written})   s = {state}"]
    if decoder.attention:
        asking = "q learned" if decoder.query is None else f"q the summary of {decoder.query}"
        query = "q"
        if glimpses > 1:
            query = "q_t"
            asking = f"t = 1 … {glimpses}, " + (
                "q_t learned" if decoder.query is None else f"q_t = W_t q, {asking}"
            )
        lines.append(f"{attention_equations(decoder.attention, query)}   {asking}")
    if decoder.hidden is not None:
        lines.append(f"{decoder.hidden} hidden units")
    return lines


@loss_line.register(LabelDecoderSpec)
def _loss(decoder: LabelDecoderSpec) -> str:
    return "−log p(y | x)" + weighted(decoder.class_weights)
