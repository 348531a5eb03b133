"""Conditioning: the ways in which an encoding reaches a recurrent decoder.

    start        s_0 = tanh(W summary + b), or as `bridge` says
    first-input  P summary + d is read before the first word: s_0 = cell(s_{−1}, P summary + d)    (Vinyals 2015)
    every-step   the summary is an input of each step
    output       the summary enters the output layer: o_t = tanh(W [s_t; summary] + b)             (Mao 2015)
    gate         the summary gates the state before the output layer: σ(G summary + d) ⊙ s_t in place of s_t

The summary is the same at all steps, so its share of each product is computed once, before the first step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.attention import Attention
from regard.nn.cells.cell import states_of
from regard.nn.decoders.decoder import Source
from regard.nn.encoders import owner_of
from regard.nn.encoders.encoder import LastStates
from regard.nn.memory import Memory
from regard.nn.recurrence import Stack
from regard.parts import Mistakes, Plan

Condition = Literal["start", "first-input", "every-step", "output", "gate", "attention"]


@dataclass(frozen=True)
class AtOutput:
    """How a summary conditions the output layer, computed once for each row.

    gates   (B, 1, H) gates of the state
    share   (B, 1, O) the summary's share of the readout
    """

    gates: Tensor | None
    share: Tensor | None

    def select(self, rows: Tensor) -> AtOutput:
        gates, share = (
            None if one is None else one.index_select(0, rows) for one in (self.gates, self.share)
        )
        return AtOutput(gates, share)

    def packed(self, rows: Tensor) -> AtOutput:
        """For packed outputs (N, …), given the row (N) of each."""
        gates, share = (None if one is None else one[rows, 0] for one in (self.gates, self.share))
        return AtOutput(gates, share)


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


Bridging = Literal["tanh", "linear", "copy"]


class Bridge(nn.Linear):
    """The first states of all layers from the summary h, including what the cells carry: tanh(W h + b), or
    W h + b without `squashes`."""

    def __init__(self, summary_size: int, stack: Stack, *, squashes: bool = True) -> None:
        super().__init__(summary_size, stack.states)
        self.layers, self.squashes = len(stack.cells), squashes

    def first_states(self, summary: Tensor) -> tuple[Tensor, ...]:
        """(B, D) → one (B, 1, state) for each layer."""
        made = torch.tanh(self(summary)) if self.squashes else self(summary)
        return by_layer(made, self.layers)


def by_layer(states: Tensor, layers: int) -> tuple[Tensor, ...]:
    """Split the concatenated states of all layers: (B, L·state) → one (B, 1, state) for each."""
    return states.view(len(states), 1, layers, -1).unbind(2)


def handed_on(memory: Memory, stack: Stack) -> tuple[Tensor, ...]:
    """`bridge: copy`: the last states of the encoder's layers, one (B, 1, state) for each."""
    size = stack.cell(0).state_size
    return tuple(one[:, None, :size] for one in memory.last or (memory.summary,))


def check_bridge(options: Any, plan: Plan, mistakes: Mistakes) -> None:
    """Require that `bridge` has an effect, and that `copy` finds last states of the right shape."""
    if options.bridge != "tanh" and "start" not in options.ways:
        mistakes.add(
            "bridge has no effect: the first state does not depend on the encoder.",
            "bridge",
            fix="Add start to condition, or leave bridge out (it is tanh by default).",
        )
    if options.bridge != "copy" or "start" not in options.ways:
        return
    sources = [name for name in options.over or plan.encoder if name in plan.encoder]
    if len(sources) != 1:
        mistakes.add(
            f"bridge: copy needs one input; received {', '.join(sources)}.",
            "bridge",
            fix="Name one input in  over, or use bridge: tanh.",
        )
        return
    encoder = owner_of(plan, sources[0])
    last = encoder.part.last_states(encoder)
    if why := _unlike(last, options.layers, options.size, options.cell.part.states):
        mistakes.add(why, "bridge", fix="Match the encoder and the decoder, or use bridge: tanh.")


def check_last_states(sources: Mapping[str, Any], stack: Stack) -> None:
    """Ask the encoder for its last states, and require one of the decoder's size for each layer."""
    if len(sources) != 1:
        raise RegardError(
            f"bridge: copy needs one input; received {', '.join(sources)}.",
            where="decoder.bridge",
            fix="Use bridge: tanh.",
        )
    (source,) = sources.values()
    hand_on = getattr(source, "hand_on", None)
    last = LastStates(size=source.summary_size) if hand_on is None else hand_on()
    if why := _unlike(last, len(stack.cells), stack.size, states_of(stack.cell(0))):
        raise RegardError(
            why, where="decoder.bridge", fix="Match the encoder and the decoder, or use bridge: tanh."
        )


def _unlike(last: LastStates, layers: int, size: int, states: int) -> str:
    """Why an encoder's last states cannot be a decoder's first states; empty if they can."""
    begin = "bridge: copy sets the decoder's first states to the encoder's last states"
    if last.layers != layers:
        return f"{begin}; the encoder has {last.layers} layers, the decoder {layers}."
    if last.size is not None and last.size != size:
        return f"{begin}; the encoder has size {last.size}, the decoder {size}."
    if states not in (1, last.states):  # the first vector alone is the output
        return f"{begin}; the state of the encoder has {_vectors(last.states)}, that of the decoder {states}."
    return ""


def _vectors(count: int) -> str:
    return "1 vector" if count == 1 else f"{count} vectors"
