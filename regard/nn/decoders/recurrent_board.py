"""The equations of the recurrent decoder, layer by layer, as its options have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.nn.attention import Attention
from regard.nn.cells.cell import carried_by
from regard.nn.decoders.glimpsing import guide_term
from regard.nn.decoders.stepwise import likelihood
from regard.nn.scores import History
from regard.nn.symbols import LookSymbols, MemorySymbols, factor, side_by_side

CARRIED = "n"
"""The letter of what a cell carries beside the state s."""


def lines(options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
    """From the memories to p(y_t), the probabilities of all words at step t."""
    looks = _looks(options, memories)
    summary = side_by_side([memory.summary for memory in memories.values()])
    context = [side_by_side([look.context for look in looks])] if looks else []
    current = any(one.state == "current" for one in options.attention)
    feeds = current and all(one.feed for one in options.attention)
    word = "E_y[y_{t−1}]"
    inputs = [word, *([summary] if "every-step" in options.ways else [])]
    inputs += ["ŝ_{t−1}"] if feeds else context if not current else []
    steps, output = _steps(options, side_by_side(inputs))
    firsts = _first_states(options, summary, next(iter(memories.values())))
    if "first-input" in options.ways:
        before = side_by_side([f"P_y {summary} + d_y", *inputs[1:]])
        firsts += _steps(options, before, "0", "−1")[0]
    found = [
        "t = 1 … T     — y_0: the sign of the beginning, y_T: that of the end",
        *firsts,
        *steps,
    ]
    for one, look in zip(options.attention, looks, strict=True):
        found += _read(one, look)
    size = options.embedding if options.tie != "none" else options.size
    weights = "V_y" if options.tie == "none" else "E_y"
    last, merges = output, "output" in options.ways
    if "gate" in options.ways:
        found += [f"ρ_y = σ(G_y {summary} + d_ρ)     — what of the state is said"]
        output = f"ρ_y ⊙ {f'({output})' if ' ' in output else output}"
    if options.deep or current or merges:
        more = [*([word] if options.deep else []), *([summary] if merges else [])]
        read = side_by_side([output, *context, *more])
        found += [f"ŝ_t = tanh(W_o {read} + b_o)"]
        found += [f"ŝ_0 = 0_{size}"] if feeds else []
        output = "ŝ_t"
    elif size != options.size:
        weights = "E_y N_y"
    said = f"softmax({weights} {f'({output})' if ' ' in output else output} + b_y)"
    found += [f"p(y_t) = {said}"] if options.copy_ is None else _copying(options, looks, said, last)
    if options.tie == "all":
        embedding = next(iter(memories.values())).embedding
        found.append(f"E_y = {embedding}     — one embedding for both sides")
    return [*found, *_cells(options), _sizes(options)]


def _word_lines(one: Any, look: LookSymbols) -> list[str]:
    """A look at the words of sentences: every word of every sentence by one softmax, with `both` times that of the
    sentences."""
    words, j = look.memory.words, look.index
    assert words is not None
    energy, weight = (look.sub(letter, "t", j, words.index) for letter in "eα")
    score, sums = one.score.part, f"Σ_{j} Σ_{words.index}"
    found = [f"{energy} = {score.equation(one.score, look.query, words.key, look.mark)}"]
    total = energy
    if one.level == "both":
        above = look.sub("ε", "t", j)
        mark = look.mark.replace("a", "k")
        found.append(
            f"{above} = {score.equation(one.score, look.query, look.key, mark)}     — of the sentences"
        )
        total = f"{energy} + {above}"
    return [
        *found,
        f"{weight} = exp({total}) / ({sums} exp({total}))",
        f"{look.context} = {sums} {weight} {words.values}",
    ]


def _copying(options: Any, looks: Sequence[LookSymbols], said: str, last: str) -> list[str]:
    """What is written mixed with what is copied; `last` is what the highest layer gives."""
    names = [one.over or "" for one in options.attention]
    place = names.index(options.copy_.from_) if options.copy_.from_ in names else 0
    look, j, count = looks[place], looks[place].index, looks[place].memory.length
    word, copied = f"δ_{j}", f"Σ_{j} {look.weight}"
    words = look.memory.words
    if options.attention[place].level != "positions" and words is not None:
        word, count = f"δ_{j}{words.index}", "W"
        copied = f"Σ_{j} Σ_{words.index} {look.sub('α', 't', j, words.index)}"
    gate = side_by_side([last, *(one.context for one in looks), "E_y[y_{t−1}]"])
    return [
        f"g_t = σ(w_g·{gate} + b_g)     — the probability that the word is written from the vocabulary",
        f"p(y_t) = g_t [{said}; 0_{count}] + (1 − g_t) {copied} {word}",
        f"— {word}: the word there, 1 at its number and 0 elsewhere; one outside the vocabulary has the number of the",
        "— first position where it stands, after those of the vocabulary, and is read as an unknown one",
    ]


def loss_lines(options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
    """What one row costs, by the word."""
    looks = _looks(options, memories)
    costs, notes = likelihood(options.label_smoothing), []
    for one, look in zip(options.attention, looks, strict=True):
        if one.guide:
            costs += f" − {factor(one.guide)}Σ_t {guide_term(look)}"
            notes.append(f"— {look.sub('a', 't', look.index)}: the true alignment")
        if one.coverage:
            costs += f" + {factor(one.coverage)}Σ_{look.index} (1 − Σ_t {look.weight})²"
        if one.repetition:
            twice = f"min({look.weight}, {look.sub('r', 't', look.index)})"
            costs += f" + {factor(one.repetition)}Σ_t Σ_{look.index} {twice}"
            if one.score.type != "history" or not one.select.part.learns:
                notes += History.history(look)
        lasting = one.state == "previous" or one.feed
        notes += one.select.part.loss_lines(one.select, look, lasting=lasting)
    whole = f"({costs})" if costs.count("Σ_t") > 1 else costs
    return [f"loss = {whole} / T     — mean over the target tokens", *notes]


def _looks(options: Any, memories: Mapping[str, MemorySymbols]) -> list[LookSymbols]:
    """One for each attention: a second one has primes."""
    _, output = _steps(options, "")
    last = f"s_{{{options.layers},t−1}}" if options.layers > 1 else "s_{t−1}"
    found = []
    for place, one in enumerate(options.attention):
        asking = (f"({output})" if " " in output else output) if one.state == "current" else last
        over = memories[one.over or next(iter(memories))]
        primes = "′" * place
        found.append(LookSymbols(asking, over, mark=f"a{primes}", prime=primes))
    return found


def _read(attention: Any, look: LookSymbols) -> list[str]:
    """Score, select, read; with a gate, what was read times β."""
    equations = Attention.equations if attention.level == "positions" else _word_lines
    if not attention.gate:
        return equations(attention, look)
    energy, weight, context = look.letters
    whole = replace(look, letters=(energy, weight, f"{context}̂"))
    gate, mark = look.sub("β̂", look.step), f"β̂{look.prime}"
    return [
        *equations(attention, whole),
        f"{gate} = σ(w_{mark}·{look.query} + b_{mark})",
        f"{look.context} = {gate} {whole.context}     — how much of what was read counts",
    ]


def _first_states(options: Any, summary: str, memory: MemorySymbols) -> list[str]:
    """s_0, or s_{1,0} and so on of several layers, each beside what its cell carries."""
    found, learned = [], []
    handed = {"s": memory.last or (memory.summary,), CARRIED: memory.carried}
    for layer in range(1, options.layers + 1):
        state = _state(options, layer, "−1" if "first-input" in options.ways else "0")
        mark = str(layer) if options.layers > 1 else ""
        letters = ["s", CARRIED] if options.cell.part.carries else ["s"]
        for letter in letters:
            name = carried_by(state, letter)
            made = f"W_{letter}{mark} {summary} + b_{letter}{mark}"
            if options.bridge == "copy" and "start" in options.ways:
                made = handed[letter][layer - 1]
            found.append(f"{name} = tanh({made})" if options.bridge == "tanh" else f"{name} = {made}")
            learned.append(name)
    return found if "start" in options.ways else [f"— {', '.join(learned)}: learned"]


def _state(options: Any, layer: int, place: str) -> str:
    """s_t, or s_{1,0} of several layers."""
    if options.layers > 1:
        return f"s_{layer}t" if place == "t" else f"s_{{{layer},{place}}}"
    return f"s_{place}" if len(place) == 1 else f"s_{{{place}}}"


def _steps(options: Any, inputs: str, now: str = "t", before: str = "t−1") -> tuple[list[str], str]:
    """The recurrence, and what the highest layer gives: with `residual` the sum of all."""
    step = options.cell.part.written_step
    found, below, output = [], inputs, ""
    for layer in range(1, options.layers + 1):
        state, mark = _state(options, layer, now), f"y{layer}" if options.layers > 1 else "y"
        found.append(step(options.cell, mark, state, _state(options, layer, before), below, CARRIED))
        output = f"{output} + {state}" if options.residual and layer > 1 else state
        below = output
    return found, output


def _cells(options: Any) -> list[str]:
    marks = ["y"] if options.layers == 1 else [f"y{layer}" for layer in range(1, options.layers + 1)]
    return [line for mark in marks for line in options.cell.part.equations(options.cell, mark)]


def _sizes(options: Any) -> str:
    dropout = f", dropout {options.dropout}" if options.dropout else ""
    tied = "; the output has the weights of the embedding" if options.tie != "none" else ""
    return f"— {options.size} units, vectors of {options.embedding}{dropout}{tied}"
