"""Find the vertices that are distributions over positions, and name their random variables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from regard.describe.graph.part_board import PartBoard
from regard.describe.vertices import Arrow, Vertex
from regard.notation import Call, Equation, Operation, Reduction, Symbol, symbols
from regard.notation.grammar import NUMBERS
from regard.notation.walking import operations_in, reductions_in


def mark_latent(board: PartBoard, units: Sequence[Vertex], arrows: Sequence[Arrow]) -> None:
    """Mark distributions over positions as latent: they are normalized over positions, or weights in a sum over
    them."""
    taken = {arrow.source for arrow in arrows}
    weighed = _weighed(units)
    for unit in units:
        if unit.target is None or unit.symbol.startswith("p(") or unit.key not in taken:
            continue  # an output distribution is not attention
        over = weighed.get(unit.target.base, set())
        for equation in unit.equations:
            if _is_choice(board, equation, weighs=bool(over)):
                unit.kind = "latent"
                unit.latent = _variable(board, unit, equation, over)
                break


def _weighed(units: Sequence[Vertex]) -> Mapping[str, set[str]]:
    """{symbol: the indices of sums in which it is a weight}."""
    found: dict[str, set[str]] = {}
    bodies = [equation.body for unit in units for equation in unit.equations]
    for over in (one for body in bodies for one in reductions_in(body) if one.kind == "Σ"):
        inner = over.body
        while isinstance(inner, Reduction):
            inner = inner.body
        for symbol in symbols(inner) if isinstance(inner, Operation) else ():
            if over.index in {one.base for one in symbols(symbol.items)}:
                found.setdefault(symbol.base, set()).add(over.index)
    return found


def _is_choice(board: PartBoard, equation: Equation, *, weighs: bool) -> bool:
    body = equation.body
    normalized = any(one.sign == "/" and list(reductions_in(one.right)) for one in operations_in(body))
    squashed = isinstance(body, Call) and body.base == "σ" and isinstance(body.arguments[0], Symbol)
    drawn = isinstance(body, Reduction) and body.kind == "argmax"
    return bool(
        _is_over_places(board, equation)
        or _structure(board, equation)
        or (weighs and (normalized or squashed))
        or drawn
    )


def _is_over_places(board: PartBoard, equation: Equation) -> bool:
    body = equation.body
    normalized = isinstance(body, Reduction) and body.kind not in NUMBERS
    return normalized and board.goes_over_places(body.index)


def _structure(board: PartBoard, equation: Equation) -> str:
    """The structure of the distribution: τ for all trees."""
    found = (one.index for one in reductions_in(equation.body) if board.is_structure(one.index))
    return next(found, "")


def _variable(board: PartBoard, unit: Vertex, equation: Equation, weighed: set[str]) -> str:
    """`z_t`: with the subscripts of its weights, except the indices of the choice; τ for a structure."""
    items = [] if unit.target is None else [one for one in unit.target.items if isinstance(one, Symbol)]
    chosen = set() if _is_over_places(board, equation) else weighed
    indices = [item.base for item in items if item.base in board.lines.ranges]
    below = "".join(index for index in indices if index not in chosen)
    name = _structure(board, equation) or f"z{board.primes}"
    return f"{name}_{below}" if below and name[0] == "z" else name


def tell_apart(units: Sequence[Vertex]) -> None:
    """Give the random variables of a whole model distinct names.

    Use ζ_t if z has another meaning. If two names would coincide at some step, as z_j and z_t do in z_1, add the
    letters of their weights: ζ_αt, and ζ_wja beside ζ_wjr.
    """
    latent = [unit for unit in units if unit.kind == "latent"]
    for unit in latent:
        base, _, below = unit.latent.partition("_")
        if base.rstrip("′") == "z" and _is_something_else(base, units):
            unit.latent = f"{base.replace('z', 'ζ')}_{below}".rstrip("_")
    alike: dict[str, list[Vertex]] = {}
    for unit in latent:
        base, _, below = unit.latent.partition("_")
        alike.setdefault(f"{base}_{re.sub('[^′]', '#', below)}", []).append(unit)
    for several in alike.values():
        for unit in several if len(several) > 1 else ():
            unit.latent = f"{unit.latent.partition('_')[0]}_{_own_letters(unit)}"


def _own_letters(unit: Vertex) -> str:
    """The letter of the weights, with their subscripts except the indices of the choice."""
    kept = unit.latent.partition("_")[2]
    items = () if unit.target is None else unit.target.items
    below = [one.base for one in items if isinstance(one, Symbol)]
    own = [one for one in below if one in kept or one not in unit.indices]
    return "".join(["" if unit.target is None else unit.target.base, *own])


def _is_something_else(base: str, units: Sequence[Vertex]) -> bool:
    """Whether the board uses this letter for something that is not drawn from a distribution."""
    named = [
        equation.body for unit in units for equation in unit.equations if equation.targets[0].base == base
    ]
    return any(not (isinstance(body, Reduction) and body.kind == "argmax") for body in named)
