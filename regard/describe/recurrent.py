"""The recurrent decoder on the board."""

from __future__ import annotations

from regard.describe.attention import attention_equations, looking_terms, penalty_term
from regard.describe.cells import cell_equations
from regard.describe.lines import Answer, decoder_lines, loss_line
from regard.spec import RecurrentDecoderSpec


@decoder_lines.register(RecurrentDecoderSpec)
def _recurrent(decoder: RecurrentDecoderSpec) -> Answer:
    condition = decoder.condition or (("start", "attention") if decoder.attention else ("start",))
    current = any(attention.state == "current" for attention in decoder.attention)
    inputs = ["e(y_{t−1})"]
    if "every-step" in condition:
        inputs.append("h")
    feeds = all(attention.feed for attention in decoder.attention)
    if decoder.attention and (feeds or not current):
        inputs.append("ŝ_{t−1}" if current else "c_t")
    joined = f"[{'; '.join(inputs)}]" if len(inputs) > 1 else inputs[0]
    first = "s_0 = tanh(W h + b), h the summary" if "start" in condition else "s_0 learned"
    lines = [f"{first}   s_t = {decoder.cell}(s_{{t−1}}, {joined})"]
    lines += cell_equations(decoder.cell, "s", "x", decoder.activation, decoder.update)
    for attention in decoder.attention:
        over = f"over {attention.over}: " if len(decoder.attention) > 1 else ""
        lines.append(over + attention_equations(attention, "s_t" if current else "s_{t−1}"))
    read = ["s_t", *(["c_t"] if decoder.attention else []), *(["e(y_{t−1})"] if decoder.deep else [])]
    if decoder.deep or current:
        lines.append(f"ŝ_t = tanh(W [{'; '.join(read)}] + b)   p(y_t) = softmax(V ŝ_t + b)")
    else:
        lines.append("p(y_t) = softmax(V s_t + b)")
    notes = [f"{decoder.size} units", f"e(y) of {decoder.embedding}"]
    if decoder.layers > 1:
        notes.insert(0, f"{decoder.layers} layers")
    if decoder.residual:
        notes.append("residual")
    if decoder.tie != "none":
        notes.append("V is the embedding" + (" of both sides" if decoder.tie == "all" else ""))
    if decoder.dropout:
        notes.append(f"dropout {decoder.dropout}")
    return [*lines, ", ".join(notes)]


@loss_line.register(RecurrentDecoderSpec)
def _loss(decoder: RecurrentDecoderSpec) -> str:
    line = "−Σ_t log p(y_t | y_<t, x), mean over the target tokens"
    if decoder.label_smoothing:
        line += f", label smoothing {decoder.label_smoothing}"
    for attention in decoder.attention:
        if attention.guide:
            line += f"   + {attention.guide} · (−Σ_j a_tj log α_tj), a the true alignment"
        line += looking_terms(attention) + penalty_term(attention)
    return line
