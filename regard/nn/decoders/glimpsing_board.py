"""The equations of decoders that glimpse: the queries, the attention, and the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from regard.nn.attention import Attention
from regard.nn.letters import Letters, linear, under
from regard.nn.symbols import LookSymbols, MemorySymbols, factor, side_by_side


def lines(options: Any, memories: Mapping[str, MemorySymbols], answer: Callable[[str], str]) -> list[str]:
    """Equations from the memories to the output; `answer` returns the last one, given the symbol of s."""
    looks = list(_looking(options, memories).values())
    found = _look_lines(options, memories, looks) if looks else []
    parts, asked = _combined(options, memories)
    dropout = [f"— dropout {options.dropout}"] if options.dropout else []
    if options.hidden is None:
        whole = side_by_side([*chain.from_iterable(parts), *asked])
        return [*found, answer(whole), *dropout]
    return [*found, *_hidden_lines(options, parts, asked, answer), *dropout]


def letters(options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
    """The letters of the decoder's parameters, except its output."""
    found: Letters = {"query": "q_k" if options.glimpses > 1 else "q", **linear("asks", "Q_yk", "b_yk")}
    for one, (name, look) in zip(options.attention, _looking(options, memories).items(), strict=True):
        found |= under(f"reading.attentions.{name}", Attention.letters(one, look))
    numbers = range(1, len(_combined(options, memories)[0]) + 1)
    for number in numbers:
        found |= linear(f"hidden.parts.{number - 1}", f"W_r{number}", f"b_r{number}")
    gates = tuple(f"U_r{number}" for number in numbers), tuple(f"c_r{number}" for number in numbers)
    return found | linear("hidden.gates", *gates) | linear("hidden.layer", "W_r", "b_r")


def _combined(options: Any, memories: Mapping[str, MemorySymbols]) -> tuple[list[list[str]], list[str]]:
    """What the output is computed from: lists of pieces to concatenate, and the summary that asks."""
    looks = _looking(options, memories)
    parts: list[list[str]] = []
    if looks:
        parts.append(_contexts(list(looks.values()), options.glimpses))
        for look in looks.values() if options.where else ():
            moves = _moves(look, options.glimpses)
            parts.append([*_all_of(look.sub("φ"), look.step, options.glimpses), *moves])
        parts += [[memories[name].summary] for name in looks] if options.whole else []
    others = [name for name in memories if name not in looks]
    asking = options.query or (others[-1] if others else None)
    parts += [[memories[name].summary] for name in others if name != asking]
    return parts, [] if asking is None else [memories[asking].summary]


def guided(options: Any, memories: Mapping[str, MemorySymbols]) -> tuple[str, list[str]]:
    """The term of the guide in the loss, and the lines that explain it; empty without a guide."""
    terms, truths = "", list[str]()
    for one, look in zip(options.attention, _looking(options, memories).values(), strict=True):
        if one.guide:
            guide = f"Σ_k {guide_term(look)} / {options.glimpses}" if look.step else guide_term(look)
            terms += f" − {factor(one.guide)}{guide}"
            truths.append(f"— {look.sub('a', look.step, look.index)}: the true regions")
    return terms, truths


def guide_term(look: LookSymbols) -> str:
    """The term that the guide of one look adds to a log-likelihood; a_tj is the true alignment."""
    return f"Σ_{look.index} {look.sub('a', look.step, look.index)} log({look.weight})"


def _looking(options: Any, memories: Mapping[str, MemorySymbols]) -> dict[str, LookSymbols]:
    """The symbols of each attention, by input; a second one has primes."""
    step = "k" if options.glimpses > 1 else ""
    query = f"q_{step}" if step else "q"
    if options.query is not None and not step:
        query = memories[options.query].summary
    looks = {}
    for place, one in enumerate(options.attention):
        over, primes = one.over or next(iter(memories)), "′" * place
        looks[over] = LookSymbols(
            query, memories[over], step=step, count=str(options.glimpses), mark=f"a{primes}", prime=primes
        )
    return looks


def _look_lines(
    options: Any, memories: Mapping[str, MemorySymbols], looks: Sequence[LookSymbols]
) -> list[str]:
    """Equations of the queries, the attention, and the mean positions of the looks."""
    step = looks[0].step
    lines = [f"k = 1 … {options.glimpses}"] if step else []
    if options.query is None:
        lines.append(f"— {looks[0].query}: learned")
    elif step:
        lines.append(f"q_k = Q_yk {memories[options.query].summary} + b_yk")
    for one, look in zip(options.attention, looks, strict=True):
        lines += Attention.equations(one, look)
        if options.where:
            j, center = look.index, look.sub("ξ", look.index)
            place = f"{center}: the center of position {j}, −1 … 1 along each axis"
            lines.append(f"{look.sub('φ', look.step)} = Σ_{j} {look.weight} {center}     — {place}")
    return lines


def _contexts(looks: Sequence[LookSymbols], count: int) -> list[str]:
    """The contexts of all looks: those of one query side by side, one query after another."""
    if not looks[0].step:
        return [look.context for look in looks]
    shown = range(1, count + 1) if count < 4 else (1, count)
    found = [f"{look.sub('c')}_{number}" for number in shown for look in looks]
    return found if count < 4 else [*found[: len(looks)], "…", *found[len(looks) :]]


def _all_of(letter: str, step: str, count: int) -> list[str]:
    """`φ_1`, `φ_2`, … for φ_k, as pieces of a concatenation."""
    if not step:
        return [letter]
    if count < 4:
        return [f"{letter}_{number}" for number in range(1, count + 1)]
    return [f"{letter}_1", "…", f"{letter}_{count}"]


def _moves(look: LookSymbols, count: int) -> list[str]:
    """The offset of each look from the previous one."""
    letter = look.sub("φ")
    return [f"{letter}_{number} − {letter}_{number - 1}" for number in range(2, count + 1)]


def _hidden_lines(
    options: Any, parts: Sequence[Sequence[str]], asking: Sequence[str], answer: Callable[[str], str]
) -> list[str]:
    """One hidden layer, and the answer (`Beside`, `Gated`)."""
    if options.combine == "beside":
        whole = side_by_side([*chain.from_iterable(parts), *asking])
        return [
            f"r = {options.activation}(W_r {whole} + b_r)     — {options.hidden} units",
            answer("r"),
        ]
    gate = asking[0]
    lines = [
        f"r_{n} = tanh(W_r{n} {side_by_side(part)} + b_r{n}) ⊙ tanh(U_r{n} {gate} + c_r{n})"
        for n, part in enumerate(parts, start=1)
    ]
    whole = side_by_side([f"r_{n}" for n in range(1, len(parts) + 1)])
    return [*lines, answer(whole), f"— {options.hidden} units in each r"]
