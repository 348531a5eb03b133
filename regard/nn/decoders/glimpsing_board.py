"""The equations of decoders that glimpse: the queries, the attention, and the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from regard.nn.attention import Attention
from regard.nn.symbols import LookSymbols, MemorySymbols, factor, side_by_side


def lines(options: Any, memories: Mapping[str, MemorySymbols], answer: Callable[[str], str]) -> list[str]:
    """Equations from the memories to the output; `answer` returns the last one, given the symbol of s."""
    look = _looking(options, memories)
    found: list[str] = []
    parts: list[list[str]] = []  # each a list of pieces to concatenate
    attended = options.attention and (options.attention.over or next(iter(memories)))
    if look is not None:
        found = _look_lines(options, memories, look)
        parts.append(_all_of("c", look.step, options.glimpses))
        if options.where:
            parts.append([*_all_of("φ", look.step, options.glimpses), *_moves(options.glimpses)])
        parts += [[memories[attended].summary]] if options.whole else []
    others = [name for name in memories if name != attended]
    asking = options.query or (others[-1] if others else None)
    parts += [[memories[name].summary] for name in others if name != asking]
    asked = [] if asking is None else [memories[asking].summary]
    dropout = [f"— dropout {options.dropout}"] if options.dropout else []
    if options.hidden is None:
        whole = side_by_side([*chain.from_iterable(parts), *asked])
        return [*found, answer(whole), *dropout]
    return [*found, *_hidden_lines(options, parts, asked, answer), *dropout]


def guided(options: Any, memories: Mapping[str, MemorySymbols]) -> tuple[str, list[str]]:
    """The term of the guide in the loss, and the lines that explain it; empty without a guide."""
    look = _looking(options, memories)
    if look is None or not options.attention.guide:
        return "", []
    guide = f"Σ_k {guide_term(look)} / {options.glimpses}" if look.step else guide_term(look)
    truth = f"— {look.sub('a', look.step, look.index)}: the true regions"
    return f" − {factor(options.attention.guide)}{guide}", [truth]


def guide_term(look: LookSymbols) -> str:
    """The term that the guide of one look adds to a log-likelihood; a_tj is the true alignment."""
    return f"Σ_{look.index} {look.sub('a', look.step, look.index)} log({look.weight})"


def _looking(options: Any, memories: Mapping[str, MemorySymbols]) -> LookSymbols | None:
    if options.attention is None:
        return None
    step = "k" if options.glimpses > 1 else ""
    query = f"q_{step}" if step else "q"
    if options.query is not None and not step:
        query = memories[options.query].summary
    over = options.attention.over or next(iter(memories))
    return LookSymbols(query, memories[over], step=step, count=str(options.glimpses))


def _look_lines(options: Any, memories: Mapping[str, MemorySymbols], look: LookSymbols) -> list[str]:
    """Equations of the queries, the attention, and the mean positions of the looks."""
    lines = [f"k = 1 … {options.glimpses}"] if look.step else []
    if options.query is None:
        lines.append(f"— {look.query}: learned")
    elif look.step:
        lines.append(f"q_k = Q_yk {memories[options.query].summary} + b_yk")
    lines += Attention.equations(options.attention, look)
    if options.where:
        j = look.index
        place = f"ξ_{j}: the center of position {j}, −1 … 1 along each axis"
        lines.append(f"{look.sub('φ', look.step)} = Σ_{j} {look.weight} ξ_{j}     — {place}")
    return lines


def _all_of(letter: str, step: str, count: int) -> list[str]:
    """`c_1`, `c_2`, … for c_k, as pieces of a concatenation."""
    if not step:
        return [letter]
    if count < 4:
        return [f"{letter}_{number}" for number in range(1, count + 1)]
    return [f"{letter}_1", "…", f"{letter}_{count}"]


def _moves(count: int) -> list[str]:
    """The offset of each look from the previous one."""
    return [f"φ_{number} − φ_{number - 1}" for number in range(2, count + 1)]


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
