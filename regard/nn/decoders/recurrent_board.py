"""The equations of the recurrent decoder for its options, assembled from those of its pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.nn.attention import Attention
from regard.nn.copying import copying_lines
from regard.nn.decoders.glimpsing_board import guide_term
from regard.nn.decoders.stack_board import (
    cell_lines,
    first_state_letters,
    first_state_lines,
    stack_letters,
    step_lines,
)
from regard.nn.decoders.stepwise import likelihood
from regard.nn.embedding import vectors_note
from regard.nn.letters import Letters, linear, under
from regard.nn.scores import History
from regard.nn.symbols import LookSymbols, MemorySymbols, factor, side_by_side


def lines(options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
    """Equations from the memories to p(y_t), the probabilities of all words at step t."""
    looks = looks_of(options, memories)
    summary = side_by_side([memory.summary for memory in memories.values()])
    context = [side_by_side([look.context for look in looks])] if looks else []
    current = any(one.state == "current" for one in options.attention)
    feeds = current and all(one.feed for one in options.attention)
    inputs = ["E_y[y_{t−1}]", *([summary] if "every-step" in options.ways else [])]
    inputs += ["ŝ_{t−1}"] if feeds else context if not current else []
    steps, output = step_lines(options, side_by_side(inputs))
    firsts = first_state_lines(options, summary, next(iter(memories.values())))
    if "first-input" in options.ways:
        before = side_by_side([f"P_y {summary} + d_y", *inputs[1:]])
        firsts += step_lines(options, before, "0", "−1")[0]
    found = [
        "t = 1 … T     — y_0: the begin token, y_T: the end token",
        *firsts,
        *steps,
    ]
    for one, look in zip(options.attention, looks, strict=True):
        found += look_lines(one, look)
    readout, logits = readout_lines(options, output, context, summary, feeds=feeds)
    found += readout
    said = f"softmax({logits})"
    found += [f"p(y_t) = {said}"] if options.copy_ is None else copying_lines(options, looks, said, output)
    if options.tie == "all":
        embedding = next(iter(memories.values())).embedding
        found.append(f"E_y = {embedding}     — one embedding for both sides")
    return [*found, *cell_lines(options), _sizes(options)]


def letters(options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
    """The letters of the decoder's parameters."""
    return {
        "embedding.weight": "E_y",
        "narrow.weight": "N_y",
        **stack_letters(options),
        **first_state_letters(options),
        **look_letters(options, memories),
        **linear("before", "P_y", "d_y"),
        **linear("gate", "G_y", "d_ρ"),
        **linear("combine", "W_o", "b_o"),
        **linear("copying.gate", "w_g", "b_g"),
        **linear("output", "V_y", "b_y"),
    }


def loss_lines(options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
    """The loss of one row, per word."""
    costs, notes = likelihood(options.label_smoothing), list[str]()
    for one, look in zip(options.attention, looks_of(options, memories), strict=True):
        more, said = penalty_lines(one, look)
        costs += more
        notes += said
    whole = f"({costs})" if costs.count("Σ_t") > 1 else costs
    return [f"loss = {whole} / T     — mean over the target tokens", *notes]


def _sizes(options: Any) -> str:
    dropout = f", dropout {options.dropout}" if options.dropout else ""
    tied = "; output weights tied to the embedding" if options.tie != "none" else ""
    return (
        f"— {options.size} units, vectors of {options.width_of_vectors}{vectors_note(options)}{dropout}{tied}"
    )


def readout_lines(
    options: Any, output: str, context: Sequence[str], summary: str, *, feeds: bool
) -> tuple[list[str], str]:
    """Equations from the output of the top layer to p(y_t), and the argument of the softmax.

    feeds   whether the input of the output layer also enters the next step
    """
    found, weights = [], "V_y" if options.tie == "none" else "E_y"
    size = options.width_of_vectors if options.tie != "none" else options.size
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
