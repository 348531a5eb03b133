"""Symbols: finds the line or the bound tensor that defines a symbol, and the values of its indices."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from regard.notation.grammar import Parser
from regard.notation.nodes import Call, Condition, Node, Symbol, symbols
from regard.notation.reading import BoardLines
from regard.notation.tokens import NotationError
from regard.testing.board.listing import Configuration
from regard.testing.board.values import FUNCTIONS, Family, Value, entry

Known = dict[str, Value]
"""Values of the indices, parameters and structures that are in scope."""


class Symbols(BoardLines):
    """Finds symbols; `value`, implemented by `Board`, evaluates their equations."""

    def __init__(self, lines: str | Iterable[str], binding: Mapping[str, Value]) -> None:
        super().__init__(lines)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))  # a recurrence recurses once per step
        self.sizes = {name: value for name, value in binding.items() if isinstance(value, int)}
        self.binding = {name: value for name, value in binding.items() if name not in self.sizes}
        self.bound = {name: self.target(Parser(name).factor()) for name in self.binding}
        self.used: set[str] = set()
        self.found: dict[tuple[Any, ...], Value] = {}
        self.letters: dict[int, set[str]] = {}

    def value(self, node: Node, known: Known) -> Value:
        raise NotImplementedError

    def over(self, letter: str, known: Known) -> list[Value]:
        raise NotImplementedError

    def holds(self, conditions: Iterable[Condition], known: Known) -> bool:
        raise NotImplementedError

    def unused(self) -> set[str]:
        """The bound names that were never looked up."""
        return set(self.binding) - self.used

    def items(self, node: Symbol | Call, known: Known) -> tuple[Value, ...]:
        return tuple(self.item(item, known) for item in node.items)

    def item(self, node: Node, known: Known) -> int | str:
        """The value of one subscript: a number, or a part of the name."""
        if not isinstance(node, Symbol) or node.items:
            found = self.value(node, known)
        elif isinstance(known.get(node.base), (int, str)):
            found = known[node.base]
        elif node.base in self.sizes:
            found = self.sizes[node.base]
        elif self.is_index(node):
            raise NotationError(f"{node.base} is an index, and nothing says which one")
        elif node.base in self.places:
            found = self.lookup(node.base, ())
        else:
            found = node.base
        if not isinstance(found, (int, str)):
            raise NotationError(f"below a name stands a whole number or a letter; received {found!r}")
        return found

    def lookup(self, base: str, items: tuple[Value, ...]) -> Value:
        """The value of a symbol: by its equation, by the binding, or as an entry of a shorter symbol."""
        key = (base, *items)
        if key not in self.found:
            self.found[key] = NotationError(f"{named(base, items)} is defined by itself")
            try:
                self.found[key] = self._find(base, items)
            except BaseException:
                del self.found[key]
                raise
        if isinstance(self.found[key], NotationError):
            raise self.found[key]
        return self.found[key]

    def _find(self, base: str, items: tuple[Value, ...]) -> Value:
        fitting: list[Any] = []
        given = [
            (name, target, known)
            for name, target in self.bound.items()
            if (known := self.fits(target, (), base, items)) is not None
        ]
        for equation, place in self.equations:
            known = self.fits(equation.targets[0], equation.conditions, base, items)
            if known is not None:
                fitting.append((len(known), equation, place, known))
        fitting.sort(key=lambda one: one[0])  # s_0 before s_t
        if len(fitting) > 1 and fitting[0][0] == fitting[1][0]:
            raise NotationError(f"two lines define {named(base, items)}: {fitting[0][1].text}")
        if fitting and given:
            raise NotationError(
                f"{named(base, items)} is on the board and in the binding: {fitting[0][1].text}"
            )
        if fitting:
            _, equation, place, known = fitting[0]
            try:
                found = self.value(equation.body, known)
            except NotationError as error:
                if "\n" in str(error):
                    raise
                raise NotationError(f"{error}\n    {equation.text}\n    for {named(base, items)}") from None
            return found if place is None else found[place]
        for name, target, known in given:
            self.used.add(name)
            return self._of_family(target, self.binding[name], known)
        if items and isinstance(items[-1], int) and self._is_known(base, items[:-1]):
            family = self.lookup(base, items[:-1])
            if isinstance(family, (Family, Configuration)):
                return whole(entry(family, items[-1:]))
        raise NotationError(f"nothing gives {named(base, items)}{self._near(base)}")

    def _is_known(self, base: str, items: tuple[Value, ...]) -> bool:
        targets = [(equation.targets[0], equation.conditions) for equation, _ in self.equations]
        targets += [(target, ()) for target in self.bound.values()]
        return any(self.fits(target, conditions, base, items) is not None for target, conditions in targets)

    def _of_family(self, target: Symbol, value: Value, known: Known) -> Value:
        for item in target.items:
            if self.is_index(item):
                first = self.over(item.base, known)[0]
                family = value if isinstance(value, Family) else Family(value, (first,))
                value = entry(family, [known[item.base]])
        return whole(value)

    def fits(
        self, target: Symbol | Call, conditions: tuple[Condition, ...], base: str, items: tuple[Value, ...]
    ) -> Known | None:
        """The index values for which the target is that symbol; None if there are none."""
        if target.base != base or len(target.items) != len(items):
            return None
        known: Known = {}
        free = {one.base for condition in conditions for one in symbols(condition)}
        for pattern, item in zip(target.items, items, strict=True):
            if not self.is_index(pattern) or pattern.base in known:
                if self.item(pattern, known) != item:
                    return None
            elif (pattern.base in free and isinstance(item, int)) or item in self.over(pattern.base, known):
                known[pattern.base] = item
            else:
                return None
        return known if self.holds(conditions, known) else None

    def _near(self, base: str) -> str:
        names = {str(equation.targets[0].base) for equation, _ in self.equations} | {
            target.base for target in self.bound.values()
        }
        names |= {function.equation.targets[0].base for function in self.functions} | set(FUNCTIONS)
        same = sorted(name for name in self.binding if name.split("_")[0] == base)
        near = same or difflib.get_close_matches(base, names, n=3)
        return f"; there is {', '.join(near)}" if near else ""


def named(base: str, items: tuple[Value, ...]) -> str:
    below = [str(item) for item in items]
    if not below:
        return base
    return (
        f"{base}_{{{','.join(below)}}}" if any(len(one) > 1 for one in below) else f"{base}_{''.join(below)}"
    )


def whole(value: Value) -> Value:
    """Positions and ids become plain numbers."""
    if isinstance(value, torch.Tensor) and not value.ndim and not value.is_floating_point():
        return int(value)
    return value
