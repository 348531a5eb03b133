"""Conditioning: the ways in which an encoding reaches a recurrent decoder.

    start        s_0 = tanh(W summary + b), or as `bridge` says
    first-input  P summary + d is read before the first word: s_0 = cell(s_{−1}, P summary + d)    (Vinyals 2015)
    every-step   the summary is an input of each step
    output       the summary enters the output layer: o_t = tanh(W [s_t; summary] + b)             (Mao 2015)
    gate         the summary gates the state before the output layer: σ(G summary + d) ⊙ s_t in place of s_t
    attention    the context of a look at each step

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
from regard.nn.attention_check import check_attention, check_over, truths_about
from regard.nn.cells.cell import states_of
from regard.nn.decoders.decoder import Source
from regard.nn.encoders import owner_of
from regard.nn.encoders.encoder import LastStates
from regard.nn.memory import Memory
from regard.nn.recurrence import Stack
from regard.nn.scores.two_level import TwoLevel
from regard.parts import Mistakes, NotNegative, Plan
from regard.parts.definition import remember

Condition = Literal["start", "first-input", "every-step", "output", "gate", "attention"]
Bridging = Literal["tanh", "linear", "copy"]


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


@remember
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


GIVES = ("query", "step", "previous", "truth", "costs")
"""The fields of `Given` that the attention of this decoder receives."""
AttentionState = Literal["previous", "current"]


class TextAttentionOptions(Attention.Options):
    """Attention of the decoder to a memory at every step."""

    state: AttentionState = "previous"
    """previous: the previous state is the query, and the context enters the cell (Bahdanau). current: the new
    state is the query, and the context enters the output layer (Luong)."""
    feed: bool = True
    """With state current: feed the attentional vector into the next step (Luong's input feeding). Training is
    faster without."""
    gate: bool = False
    """Multiply the context by β_t = σ(w·q + b), where q is the query: how much the context counts for the
    next word (Xu 2015)."""
    level: Literal["positions", "words", "both"] = "positions"
    """What to attend to in a document. positions: its sentences. words: the words of its sentences. both: the
    words, weighted by the product of two softmaxes, over words and over sentences (Nallapati 2016)."""
    coverage: NotNegative = 0.0
    """λ of the doubly stochastic penalty λ Σ_s (1 − Σ_t α_ts)², which asks for a total attention of one to
    each position over a whole output (Xu 2015). To penalize only repeated attention, use `repetition`."""
    repetition: NotNegative = 0.0
    """λ of the penalty λ Σ_t Σ_s min(α_ts, r_ts), r_ts = Σ_{υ<t} α_υs, on attending to the same position
    again (the coverage loss of See 2017). To let the score depend on r, use `score: history`."""


def build_attention(options: Any, size: int, source: Any) -> Attention:
    """The attention over the memory of an encoder, or over the words of its sentences."""
    if options.level == "positions":
        return Attention.build(options, size, source)
    if options.level == "both":
        return TwoLevelAttention.build(options, size, source)
    return Attention.build(options, size, source.words)


class TwoLevelAttention(Attention):
    """Attention to the words of sentences by the scores of both."""

    score: TwoLevel

    @classmethod
    def build(cls, options: Any, query_size: int, source: Any) -> Attention:
        looked = super().build(options, query_size, source.words)
        looked.score = TwoLevel(looked.score, Attention.build(options, query_size, source).score)
        return looked

    def keys(self, memory: Memory) -> Tensor:
        """(B, W, A + A′) the keys of the words, each beside that of its sentence."""
        assert memory.parent is not None and memory.parent_index is not None
        words = memory.values if memory.keys is None else memory.keys
        sentences = memory.parent.values if memory.parent.keys is None else memory.parent.keys
        above = self.score.sentences.keys(sentences)  # (B, S, A′)
        places = memory.parent_index.unsqueeze(-1).expand(-1, -1, above.shape[-1])
        return torch.cat([self.score.words.keys(words), above.gather(1, places)], -1)


def check_attentions(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Check each attention, and the options that several attentions of one decoder must share."""
    here = mistakes.at("attention")
    for one in options.attention:
        check_over(one, options, plan, here)
        source = one.over or next(iter(options.over or plan.encoder))
        looked_at = plan.inputs.get(source)
        check_attention(
            one,
            here,
            user="a recurrent decoder",
            gives=GIVES,
            together=False,
            truths=truths_about(plan, source, name, ("alignment", "places")),
            truth_type="places" if looked_at is not None and looked_at.part.has_regions else "alignment",
        )
        for penalty in ("coverage", "repetition"):
            if getattr(one, penalty) and not one.select.part.learns:
                here.add(
                    f"{penalty} has no effect: the weights of select: {one.select.type} are not learned.",
                    penalty,
                    fix=f"Leave {penalty} out, or choose select: softmax.",
                )
        if not one.feed and one.state == "previous":
            here.add(
                "feed: false needs state: current; with state: previous the context always enters the cell.",
                "feed",
                fix="Add  state: current, or drop feed.",
            )
        _check_width(one, options, plan, here)
        if one.level != "positions":
            _check_level(one, source, plan, here)
    overs = [one.over or next(iter(options.over or plan.encoder)) for one in options.attention]
    if len(set(overs)) < len(overs):
        here.add("two attentions attend to the same input.", fix="Keep one of them.")
    if len({one.state for one in options.attention}) > 1:
        here.add(
            "one attention has state: previous and another has state: current.",
            fix="Give both the same `state`.",
        )
    draws = [one.select for one in options.attention if one.select.part.draws]
    if any(one != draws[0] for one in draws):
        here.add(
            "two attentions sample positions with different options.",
            "select",
            fix="Give both the same options.",
        )


def _check_level(attention: Any, source: str, plan: Plan, mistakes: Mistakes) -> None:
    """Require a softmax over the words of an encoder of sentences."""
    level = attention.level
    if source in plan.encoder and not owner_of(plan, source).part.of_words:
        mistakes.add(
            f"level: {level} needs an encoder of sentences and their words, which that of {source} is not.",
            "level",
            fix="Use a hierarchical encoder, or leave level out.",
        )
    if not attention.select.part.of_words:
        mistakes.add(
            f"level: {level} needs select: softmax; received {attention.select.type}.",
            "select",
            fix="Use select: softmax, or leave level out.",
        )
    if attention.score.part.needs:
        mistakes.add(
            f"level: {level} does not provide the attention weights of previous steps, which score: "
            f"{attention.score.type} needs.",
            "score",
            fix="Use score: additive.",
        )
    for penalty in ("coverage", "repetition", "guide"):
        if getattr(attention, penalty):
            mistakes.add(
                f"{penalty} cannot be used with level: {attention.level}.",
                penalty,
                fix=f"Leave {penalty} out, or leave level out.",
            )


def _check_width(attention: Any, options: Any, plan: Plan, mistakes: Mistakes) -> None:
    """Require vectors of the same width for a dot product."""
    source = attention.over or next(iter(options.over or plan.encoder))
    if not attention.score.part.one_size or source not in plan.encoder:
        return
    encoder = owner_of(plan, source)
    width = encoder.part.key_width(encoder)
    if attention.level != "positions":
        width = None  # the width of the words is known only when they are read
    if width is not None and getattr(encoder, "parents", None) is not None:
        width *= 2
    if width is not None and width != options.size:
        mistakes.add(
            f"a {attention.score.type} score compares vectors of one width; "
            f"the memory of {source} has {width}, the decoder {options.size}.",
            "score",
            fix=f"Use score: general, or make the decoder's size {width}.",
        )
