"""The parsed board of one part: its equations, its weights, and the meaning of its symbols."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.describe.six_answers import NOTE
from regard.describe.vertices import Vertex
from regard.describe.weights import LetteredWeight
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
    cells       the functions with the weights of a recurrent cell
    beside      the equations of its loss, in which weights may stand that no other equation has
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
        loss: Sequence[str] = (),
    ) -> None:
        self.key, self.texts, self.weights, self.primes = key, list(texts), weights, primes
        self.outside, self.decodes = dict(outside or {}), decodes
        self.lines = _readable(texts)
        self.own = frozenset(self.lines.ranges)
        for index, range_ in (ranges or {}).items():
            self.lines.ranges.setdefault(index, range_)
        self.beside = [one for one, _ in _readable(loss).equations]
        self.equations = [one for one, _ in self.lines.equations if not self._is_alias(one)]
        self._defined = {(one.targets[0].base, len(one.targets[0].items)) for one in self.equations}
        self._steps = self._places_of_indices()
        self.cells = {
            one.equation.targets[0].base
            for one in self.lines.functions
            if any(weight.kind == "cell" for weight in self.weights_in(bodies(one)))
        }

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
        return not self.is_value(symbol) and any(
            not one.whole and self.is_of(one, symbol) for one in self.weights
        )

    def is_table(self, symbol: Symbol) -> bool:
        """Whether a symbol is a weight with a vector for each unit."""
        return any(one.tensor.dim() > 1 and self.is_of(one, symbol) for one in self.weights)

    def is_of(self, weight: LetteredWeight, symbol: Symbol, *, any_of: bool = False) -> bool:
        """Whether a symbol is a letter of a weight; V_1 is one of V_δ.

        any_of   whether an index of the symbol may stand for the letter's: W_rd for W_r→
        """
        return any(self._denotes(one, symbol, any_of) for one in weight.letters)

    def weights_in(self, nodes: Sequence[Node]) -> Iterator[LetteredWeight]:
        """The weights whose letters stand in a function, for any of its indices."""
        used = list(symbols(tuple(nodes)))
        return (one for one in self.weights if any(self.is_of(one, symbol, any_of=True) for symbol in used))

    def _denotes(self, letter: Symbol, symbol: Symbol, any_of: bool) -> bool:
        if plain(letter.base) != plain(symbol.base) or len(letter.items) != len(symbol.items):
            return False
        pairs = zip(letter.items, symbol.items, strict=True)
        return all(self._agree(one, other) or (any_of and self._agree(other, one)) for one, other in pairs)

    def _agree(self, index: Node, item: Node) -> bool:
        """Whether two subscripts are the same, or the second is a value of the first: d → of d ∈ {→, ←}."""
        if plain(node_text(index)) == plain(node_text(item)):
            return True
        if not self.lines.is_index(index):
            return False
        range_ = self.lines.ranges[index.base]
        if range_.listed:
            return item in range_.values
        return isinstance(item, Number) and all(isinstance(one, Number) for one in range_.values)

    def is_value(self, symbol: Symbol) -> bool:
        """Whether an equation of this part defines a symbol, or its other steps."""
        alike = [one.targets[0] for one in self.equations if one.targets[0].base == symbol.base]
        return any(len(one.items) == len(symbol.items) and self.named_alike(one, symbol) for one in alike)

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

    def _is_alias(self, equation: Equation) -> bool:
        """`E_y = E_x`: a weight shared with another part."""
        target = equation.targets[0]
        others = [one for one, _ in self.lines.equations if one.targets[0].base == target.base]
        alone = len(others) == 1 and isinstance(equation.body, Symbol)
        return alone and any(self.is_of(one, target) for one in self.weights)

    # Indices

    def indices(self, target: Symbol) -> tuple[str, ...]:
        return tuple(item.base for item in target.items if self.lines.is_index(item))

    def fixed(self) -> frozenset[str]:
        """The indices on which weights depend."""
        letters = [one for weight in self.weights if not weight.whole for one in weight.letters]
        items = [item for one in letters if not self.is_value(one) for item in one.items]
        return frozenset(item.base for item in items if self.lines.is_index(item))

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
        """The functions that a call can refer to."""
        named = [one for one in self.lines.functions if one.equation.targets[0].base == call.base]
        return [one for one in named if self._is_called(one.equation.targets[0], call)]

    def _is_called(self, target: Call, call: Call) -> bool:
        pairs = zip(target.items, call.items, strict=False)
        agree = all(self._agree(one, other) or self._agree(other, one) for one, other in pairs)
        return agree and len(target.items) == len(call.items)


def plain(text: str) -> str:
    """A text with its marks apart from their letters, to compare it."""
    return unicodedata.normalize("NFD", text)


def bodies(function: Function) -> list[Node]:
    """The results and intermediate values of a function."""
    return [function.equation.body, *function.inside.values()]


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
