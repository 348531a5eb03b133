"""The attention of a recurrent decoder: its options, its checks, and its equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor

from regard.nn.attention import Attention
from regard.nn.attention_check import check_attention, check_over, truths_about
from regard.nn.decoders.glimpsing_board import guide_term
from regard.nn.decoders.stack_board import step_lines
from regard.nn.encoders import owner_of
from regard.nn.letters import Letters, linear, under
from regard.nn.memory import Memory
from regard.nn.scores import History
from regard.nn.scores.two_level import TwoLevel
from regard.nn.symbols import LookSymbols, MemorySymbols, factor
from regard.parts import Mistakes, NotNegative, Plan

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


# Equations.


def looks_of(options: Any, memories: Mapping[str, MemorySymbols]) -> list[LookSymbols]:
    """The symbols of each attention; a second one has primes."""
    _, output = step_lines(options, "")
    last = f"s_{{{options.layers},t−1}}" if options.layers > 1 else "s_{t−1}"
    found = []
    for place, one in enumerate(options.attention):
        asking = (f"({output})" if " " in output else output) if one.state == "current" else last
        over = memories[one.over or next(iter(memories))]
        primes = "′" * place
        found.append(LookSymbols(asking, over, mark=f"a{primes}", prime=primes))
    return found


def look_lines(attention: Any, look: LookSymbols) -> list[str]:
    """Equations: score, select, read; with a gate, the context times β."""
    equations = Attention.equations if attention.level == "positions" else _word_lines
    if not attention.gate:
        return equations(attention, look)
    energy, weight, context = look.letters
    whole = replace(look, letters=(energy, weight, f"{context}̂"))
    gate, mark = look.sub("β̂", look.step), f"β̂{look.prime}"
    return [
        *equations(attention, whole),
        f"{gate} = σ(w_{mark}·{look.query} + b_{mark})",
        f"{look.context} = {gate} {whole.context}     — the gated context",
    ]


def look_letters(options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
    """The letters of the attentions and of their gates."""
    found: Letters = {}
    for one, look in zip(options.attention, looks_of(options, memories), strict=True):
        name, mark = one.over or next(iter(memories)), f"β̂{look.prime}"
        path, letters = f"reading.attentions.{name}", Attention.letters(one, look)
        if one.level == "both":
            above = replace(look, mark=_sentence_mark(look))
            letters |= under("score.words", one.score.part.letters(one.score, look))
            letters |= under("score.sentences", one.score.part.letters(one.score, above))
        found |= under(path, letters) | linear(f"reading.gates.{name}", f"w_{mark}", f"b_{mark}")
    return found


def _sentence_mark(look: LookSymbols) -> str:
    """The subscript of the weights that score sentences, beside those that score words."""
    return look.mark.replace("a", "k")


def _word_lines(one: Any, look: LookSymbols) -> list[str]:
    """Equations of attention to the words of sentences: one softmax over all words of all sentences, with
    `both` of the sum of the word's and the sentence's score."""
    words, j = look.memory.words, look.index
    assert words is not None
    energy, weight = (look.sub(letter, "t", j, words.index) for letter in "eα")
    score, sums = one.score.part, f"Σ_{j} Σ_{words.index}"
    found = [f"{energy} = {score.equation(one.score, look.query, words.key, look.mark)}"]
    total = energy
    if one.level == "both":
        above = look.sub("ε", "t", j)
        mark = _sentence_mark(look)
        found.append(
            f"{above} = {score.equation(one.score, look.query, look.key, mark)}     — the scores of the sentences"
        )
        total = f"{energy} + {above}"
    return [
        *found,
        f"{weight} = exp({total}) / ({sums} exp({total}))",
        f"{look.context} = {sums} {weight} {words.values}",
    ]


def penalty_lines(one: Any, look: LookSymbols) -> tuple[str, list[str]]:
    """The terms that an attention adds to the loss of a row, and the lines that explain them."""
    costs, notes = "", list[str]()
    if one.guide:
        costs += f" − {factor(one.guide)}Σ_t {guide_term(look)}"
        notes.append(f"— {look.sub('a', 't', look.index)}: the true alignment")
    if one.coverage:
        costs += f" + {factor(one.coverage)}Σ_{look.index} (1 − Σ_t {look.weight})²"
    if one.repetition:
        twice = f"min({look.weight}, {look.sub('r', 't', look.index)})"
        costs += f" + {factor(one.repetition)}Σ_t Σ_{look.index} {twice}"
        if not one.score.part.of_totals or not one.select.part.learns:
            notes += History.history(look)
    lasting = one.state == "previous" or one.feed
    return costs, [*notes, *one.select.part.loss_lines(one.select, look, lasting=lasting)]
