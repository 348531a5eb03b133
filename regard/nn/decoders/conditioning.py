"""Conditioning: the ways in which an encoding reaches a recurrent decoder, beside its first state (`bridge`).

    first-input  P summary + d is read before the first word: s_0 = cell(s_{−1}, P summary + d)    (Vinyals 2015)
    every-step   the summary is an input of each step
    output       the summary enters the output layer: o_t = tanh(W [s_t; summary] + b)             (Mao 2015)
    gate         the summary gates the state before the output layer: σ(G summary + d) ⊙ s_t in place of s_t

The summary is the same at all steps, so its share of each product is computed once, before the first step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.attention import Attention
from regard.nn.decoders.decoder import Source
from regard.nn.stepping import AtOutput
from regard.nn.symbols import side_by_side
from regard.parts import Mistakes

Condition = Literal["start", "first-input", "every-step", "output", "gate", "attention"]


class OutputGate(nn.Linear):
    """ρ = σ(G h + d): the gates that a summary h applies to the state before the output layer."""

    def forward(self, summary: Tensor) -> Tensor:
        """(B, D) → (B, 1, H)"""
        return torch.sigmoid(super().forward(summary)).unsqueeze(1)


class Readout(nn.Linear):
    """o_t = tanh(W [s_t; c_t; e(y_{t−1}); h] + b), where all but s_t may be missing; h is the summary.

    merged   features of the summary
    """

    def __init__(self, known: int, merged: int, size: int) -> None:
        super().__init__(known + merged, size)
        self.merged = merged

    def share(self, summary: Tensor) -> Tensor | None:
        """(B, D) → (B, 1, O) the summary's share; None if it does not enter."""
        if not self.merged:
            return None
        return nn.functional.linear(summary, self.weight[:, -self.merged :]).unsqueeze(1)

    def forward(self, found: Tensor, share: Tensor | None = None) -> Tensor:
        """(…, s_t, c_t and e(y_{t−1}) concatenated) → (…, O)"""
        if share is None:
            return torch.tanh(super().forward(found))
        known = nn.functional.linear(found, self.weight[:, : -self.merged], self.bias)
        return torch.tanh(known + share)


def at_output(summary: Tensor, gate: OutputGate | None, readout: Readout | None) -> AtOutput | None:
    """How the summary (B, D) conditions the output layer; None if it does not."""
    gates = None if gate is None else gate(summary)
    share = None if readout is None else readout.share(summary)
    return None if gates is None and share is None else AtOutput(gates, share)


def check_condition(options: Any, mistakes: Mistakes) -> None:
    """Check `condition`, and whether the attention agrees with it."""
    if options.condition is None:
        return
    if not options.condition:
        mistakes.add(
            "decoder.condition is empty: the decoder would never see the encoder.",
            "condition",
            fix="Choose from start, first-input, every-step, output, gate, attention.",
        )
        return
    twice = [way for way in dict.fromkeys(options.condition) if options.condition.count(way) > 1]
    if twice:
        mistakes.add(f"condition names {twice[0]} twice.", "condition", fix="Keep one of them.")
    if "first-input" in options.condition and "attention" in options.condition:
        mistakes.add(
            "condition: first-input and attention cannot be combined: the extra first step has no attention.",
            "condition",
            fix="Use start with attention, or leave one of the two out.",
        )
    if "attention" in options.condition and not options.attention:
        mistakes.add(
            "condition names attention, and this decoder has none.",
            "condition",
            fix="Add  attention: {score: additive, select: softmax}.",
        )
    if options.attention and "attention" not in options.condition:
        mistakes.add(
            "this decoder has an attention, and condition does not name it.",
            "condition",
            fix="Add attention to condition, or remove the attention.",
        )


def check_given(
    condition: Sequence[str],
    attention: Mapping[str, Attention] | None,
    sources: Mapping[str, Source],
    state: str,
) -> None:
    """`check_condition` for a decoder that is constructed in Python."""
    unknown = [word for word in condition if word not in get_args(Condition)]
    if unknown or not condition:
        raise RegardError(
            f"A decoder's condition is any combination of {', '.join(get_args(Condition))}; received {list(condition)}."
        )
    if "first-input" in condition and "attention" in condition:
        raise RegardError("The conditions first-input and attention cannot be combined.")
    if ("attention" in condition) != bool(attention):
        raise RegardError(
            f"Condition {list(condition)} and {len(attention or {})} attentions do not fit together.",
            fix="Give an attention exactly when the condition names it.",
        )
    unknown = [name for name in attention or {} if name not in sources]
    if unknown:
        raise RegardError(
            f"Unknown source in attention: {', '.join(unknown)}. The sources are {', '.join(sources)}."
        )
    if state not in ("previous", "current"):
        raise RegardError(f"state must be 'previous' or 'current'; received {state!r}.")


def readout_lines(
    options: Any, output: str, context: Sequence[str], summary: str, *, feeds: bool
) -> tuple[list[str], str]:
    """Equations from the output of the top layer to p(y_t), and the argument of the softmax.

    feeds   whether the input of the output layer also enters the next step
    """
    found, weights = [], "V_y" if options.tie == "none" else "E_y"
    size = options.embedding if options.tie != "none" else options.size
    merges = "output" in options.ways
    if "gate" in options.ways:
        found += [f"ρ_y = σ(G_y {summary} + d_ρ)     — the output gate"]
        output = f"ρ_y ⊙ {f'({output})' if ' ' in output else output}"
    if options.deep or merges or any(one.state == "current" for one in options.attention):
        more = [*(["E_y[y_{t−1}]"] if options.deep else []), *([summary] if merges else [])]
        found += [f"ŝ_t = tanh(W_o {side_by_side([output, *context, *more])} + b_o)"]
        found += [f"ŝ_0 = 0_{size}"] if feeds else []
        output = "ŝ_t"
    elif size != options.size:
        weights = "E_y N_y"
    return found, f"{weights} {f'({output})' if ' ' in output else output} + b_y"
