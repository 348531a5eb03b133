"""The parsed board of one part: its equations, its weights, and the meaning of its symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.describe.board import NOTE
from regard.describe.vertices import Vertex
from regard.describe.weights import LetteredWeight, letter
from regard.notation import (
    BoardLines,
    Call,
    Equation,
    Function,
    Node,
    NotationError,
    Number,
    Operation,
    Range,
    Symbol,
    symbols,
)
from regard.notation.walking import node_text, said_symbols

GIVEN = ("w", "X", "x", "y")
"""Letters of inputs and outputs."""


class PartBoard:
    """Everything known about a part before its graph is built. It never changes.

    key         the part: "encoder source"
    texts       its lines as written; `lines` holds them parsed
    own         the indices whose ranges it defines; `lines.ranges` also has those of earlier parts
    equations   the equations that define a vertex
    weights     all of its parameters
    cells       the functions that are steps of a recurrence
    outside     {symbol of another part: its vertex}
    primes      the primes of its symbols, if other parts use the same letters
    decodes     whether it generates an output
    """

    def __init__(
        self,
        key: str,
        texts: Sequence[str],
        weights: Sequence[LetteredWeight],
        *,
        primes: str = "",
        outside: Mapping[str, Vertex] | None = None,
        ranges: Mapping[str, Range] | None = None,
        decodes: bool = False,
    ) -> None:
        self.key, self.texts, self.weights, self.primes = key, list(texts), weights, primes
        self.outside, self.decodes = dict(outside or {}), decodes
        self.lines = _readable(texts)
        self.own = frozenset(self.lines.ranges)
        for index, range_ in (ranges or {}).items():
            self.lines.ranges.setdefault(index, range_)
        self.equations = [one for one, _ in self.lines.equations if not _is_alias(one)]
        self._defined = {(one.targets[0].base, len(one.targets[0].items)) for one in self.equations}
        owners = {cell_name(one.owner) for one in weights if " " not in one.owner}
        named = {one.equation.targets[0].base for one in self.lines.functions}
        self.cells = {base for base in named if cell_name(base) in owners}
        self._steps = self._places_of_indices()

    def _places_of_indices(self) -> dict[tuple[str, int], set[int]]:
        """The subscript positions that hold an index in some equation: the second of s_1t, and so of s_{1,0}."""
        found: dict[tuple[str, int], set[int]] = {}
        for equation, _ in self.lines.equations:
            target = equation.targets[0]
            places = {place for place, item in enumerate(target.items) if self.lines.is_index(item)}
            found.setdefault((target.base, len(target.items)), set()).update(places)
        return found

    # Symbols

    def is_weight(self, symbol: Symbol) -> bool:
        return any(one.letters and re.fullmatch(one.letters, letter(symbol)) for one in self.weights)

    def is_defined(self, base: str, arity: int) -> bool:
        """Whether an equation of this part defines the symbol."""
        return (base, arity) in self._defined

    def is_known(self, symbol: Symbol) -> bool:
        """Whether this part or another computes a symbol with this letter."""
        known = {equation.targets[0].base for equation, _ in self.lines.equations}
        return symbol.base in known or any(symbol.base == key.partition("_")[0] for key in self.outside)

    def is_certain(self, target: Symbol) -> bool:
        """Whether a symbol is the value of a single step, while another equation covers all: s_0 for s_t."""
        steps = self._steps.get((target.base, len(target.items)), set())
        return any(
            place in steps and not self.lines.is_index(item) for place, item in enumerate(target.items)
        )

    def labels(self, target: Symbol) -> str:
        """The subscripts that are part of a symbol's name: y of u_yp, 1 of s_1t."""
        steps = self._steps.get((target.base, len(target.items)), set())
        return ",".join(
            node_text(item)
            for place, item in enumerate(target.items)
            if not self.lines.is_index(item) and place not in steps
        )

    def named_alike(self, target: Symbol, symbol: Symbol) -> bool:
        """Whether the subscripts that are not indices are equal."""
        for pattern, item in zip(target.items, symbol.items, strict=False):
            if not self.lines.is_index(pattern):
                if pattern != item:
                    return False
            elif isinstance(item, Symbol) and not item.items and not self._is_place(item.base):
                return False
        return True

    def recurs(self, base: str) -> bool:
        """Whether an equation uses the value of an earlier step."""
        used = (one for equation, _ in self.lines.equations for one in said_symbols(equation.body))
        return any(
            one.base == base and any(isinstance(item, Operation) for item in one.items) for one in used
        )

    # Indices

    def indices(self, target: Symbol) -> tuple[str, ...]:
        return tuple(item.base for item in target.items if self.lines.is_index(item))

    def goes_over_places(self, index: str) -> bool:
        """Whether an index ranges over positions, as opposed to a fixed number of values."""
        if index not in self.lines.ranges:
            return True  # over the positions of a memory
        values = self.lines.ranges[index].values
        return bool(values) and not all(isinstance(value, Number) for value in values)

    def is_structure(self, name: str) -> bool:
        return name in self.lines.ranges and self.lines.is_structure(name)

    def _is_place(self, name: str) -> bool:
        """Whether a name is an index, a bound of its range (S), or one of its values (A of l ∈ {A, C})."""
        bounds = {one.base for range_ in self.lines.ranges.values() for one in symbols(range_.values)}
        return name in self.lines.ranges or name in bounds or name in self.lines.places

    # Functions

    def called(self, call: Call) -> list[Function]:
        """The function that a call refers to; empty for a cell, which is drawn separately."""
        if call.base in self.cells:
            return []
        return [one for one in self.lines.functions if one.equation.targets[0].base == call.base]


def cell_name(name: str) -> str:
    """The common name of a cell's function and its module, without marks: `gru` of gru_w→."""
    return re.sub(r"[^a-z]", "", name)


def bodies(function: Function) -> list[Node]:
    """The results and intermediate values of a function."""
    return [function.equation.body, *function.inside.values()]


def _is_alias(equation: Equation) -> bool:
    """`E′_x = E_A`: a table shared with another."""
    return isinstance(equation.body, Symbol) and letter(equation.targets[0]).startswith("E_")


def _readable(lines: Sequence[str]) -> BoardLines:
    """The lines that can be parsed, without notes; lines in a custom notation are left out."""
    found = _lenient(lines)
    for place, (equation, number) in enumerate(found.equations):
        found.equations[place] = (_without_note(equation), number)
    functions, found.functions = found.functions, []
    for one in functions:
        equation = _without_note(one.equation)
        target: Any = equation.targets[0]
        if target.base == "p":  # of a structure: p(y) over all tags
            answer = Symbol(f"p({node_text(target.arguments[0])})")
            found.equations.append((replace(equation, targets=(answer,)), None))
        else:
            found.functions.append(replace(one, equation=equation))
    return found


def _lenient(lines: Sequence[str]) -> BoardLines:
    try:
        return BoardLines(list(lines))
    except NotationError:
        kept: list[str] = []
        for line in lines:
            try:
                BoardLines([*kept, line])
            except NotationError:
                continue
            kept.append(line)
        return BoardLines(kept)


def _without_note(equation: Equation) -> Equation:
    return replace(equation, text=equation.text.partition(NOTE)[0].strip())
