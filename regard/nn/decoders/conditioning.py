"""Conditioning: the ways in which an encoding reaches a recurrent decoder, beside its first state (`bridge`).

    first-input  P summary + d is read before the first word: s_0 = cell(s_{−1}, P summary + d)    (Vinyals 2015)
    every-step   the summary is an input of each step
    output       the state meets the summary where words are chosen: o_t = tanh(W [s_t; summary] + b)  (Mao 2015)
    gate         the summary decides what of the state is said: σ(G summary + d) ⊙ s_t in place of s_t

A summary belongs to the row: its share of a product is computed once, before the first step.
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
    """ρ = σ(G h + d) of the summary h: what of the state is said."""

    def forward(self, summary: Tensor) -> Tensor:
        """(B, D) → (B, 1, H)"""
        return torch.sigmoid(super().forward(summary)).unsqueeze(1)


class Readout(nn.Linear):
    """o_t = tanh(W [s_t; c_t; e(y_{t−1}); h] + b), of these what the decoder has; the summary h comes last.

    merged   features of the summary
    """

    def __init__(self, known: int, merged: int, size: int) -> None:
        super().__init__(known + merged, size)
        self.merged = merged

    def share(self, summary: Tensor) -> Tensor | None:
        """(B, D) → (B, 1, O) the summary's share; None where it has none."""
        if not self.merged:
            return None
        return nn.functional.linear(summary, self.weight[:, -self.merged :]).unsqueeze(1)

    def forward(self, found: Tensor, share: Tensor | None = None) -> Tensor:
        """(…, s_t, c_t and e(y_{t−1}) side by side) → (…, O)"""
        if share is None:
            return torch.tanh(super().forward(found))
        known = nn.functional.linear(found, self.weight[:, : -self.merged], self.bias)
        return torch.tanh(known + share)


def at_output(summary: Tensor, gate: OutputGate | None, readout: Readout | None) -> AtOutput | None:
    """What the summary (B, D) does where words are chosen; None where it does nothing."""
    gates = None if gate is None else gate(summary)
    share = None if readout is None else readout.share(summary)
    return None if gates is None and share is None else AtOutput(gates, share)


def check_condition(options: Any, mistakes: Mistakes) -> None:
    """How the encoding reaches the decoder, and whether the attention agrees."""
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
            "first-input is a step before the first word, in which an attention would have nothing to read.",
            "condition",
            fix="Use start with attention, or leave one of the two out.",
        )
    if "attention" in options.condition and not options.attention:
        mistakes.add(
            "condition names attention, and there is no attention.",
            "condition",
            fix="Add  attention: {score: additive, select: softmax}.",
        )
    if options.attention and "attention" not in options.condition:
        mistakes.add(
            "there is an attention, and condition leaves it out.",
            "condition",
            fix="Add attention to condition, or remove the attention.",
        )


def check_given(
    condition: Sequence[str],
    attention: Mapping[str, Attention] | None,
    sources: Mapping[str, Source],
    state: str,
) -> None:
    """The same, of a decoder that is made by hand."""
    unknown = [word for word in condition if word not in get_args(Condition)]
    if unknown or not condition:
        raise RegardError(
            f"A decoder's condition is any combination of {', '.join(get_args(Condition))}; received {list(condition)}."
        )
    if "first-input" in condition and "attention" in condition:
        raise RegardError("A decoder whose first input is the summary has no attention.")
    if ("attention" in condition) != bool(attention):
        raise RegardError(
            f"Condition {list(condition)} and {len(attention or {})} attentions do not fit together.",
            fix="Give an attention exactly when the condition names it.",
        )
    unknown = [name for name in attention or {} if name not in sources]
    if unknown:
        raise RegardError(
            f"The decoder is to attend to {', '.join(unknown)}, which is not among its sources {', '.join(sources)}."
        )
    if state not in ("previous", "current"):
        raise RegardError(f"A decoder looks from the previous or the current state; received {state!r}.")


def readout_lines(
    options: Any, output: str, context: Sequence[str], summary: str, *, feeds: bool
) -> tuple[list[str], str]:
    """Equations from what the highest layer gives to p(y_t), and what the softmax is of.

    feeds   whether what goes to the output layer enters the next step
    """
    found, weights = [], "V_y" if options.tie == "none" else "E_y"
    size = options.embedding if options.tie != "none" else options.size
    merges = "output" in options.ways
    if "gate" in options.ways:
        found += [f"ρ_y = σ(G_y {summary} + d_ρ)     — what of the state is said"]
        output = f"ρ_y ⊙ {f'({output})' if ' ' in output else output}"
    if options.deep or merges or any(one.state == "current" for one in options.attention):
        more = [*(["E_y[y_{t−1}]"] if options.deep else []), *([summary] if merges else [])]
        found += [f"ŝ_t = tanh(W_o {side_by_side([output, *context, *more])} + b_o)"]
        found += [f"ŝ_0 = 0_{size}"] if feeds else []
        output = "ŝ_t"
    elif size != options.size:
        weights = "E_y N_y"
    return found, f"{weights} {f'({output})' if ' ' in output else output} + b_y"
