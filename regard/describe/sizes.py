"""Sizes of the symbols on a board, inferred from the equations and the shapes of the weights.

The size of a vector is a number, or a letter if it depends on the data (S positions, V(target) words). A size that
cannot be inferred is None, and is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regard.describe.weights import LetteredWeight, letter
from regard.notation import (
    BoardLines,
    Call,
    Concatenation,
    Condition,
    Equation,
    Item,
    Node,
    Number,
    Operation,
    Range,
    Reduction,
    Several,
    Single,
    Symbol,
    symbols,
)
from regard.notation.grammar import NUMBERS

Size = int | str | None
Known = Mapping[tuple[str, int], Size]
LIKE = (
    "tanh",
    "relu",
    "σ",
    "exp",
    "log",
    "softmax",
    "layernorm",
    "norm",
    "maxpool",
    "meanpool",
    "squash",
    "leaky",
)
"""Functions whose value has the size of their first argument."""


class BoardSizes:
    """The sizes of the symbols of one part.

    units   size of the output's vocabulary, as written
    """

    def __init__(
        self,
        lines: BoardLines,
        weights: Sequence[LetteredWeight],
        cells: Iterable[str],
        cell_sizes: Mapping[str, int],
        outside: Known,
        units: str,
    ) -> None:
        self.lines, self.weights, self.cells, self.units = lines, weights, set(cells), units
        self.cell_sizes = cell_sizes
        self.found: dict[tuple[str, int], Size] = dict(outside)
        bodies = [equation.body for equation, _ in lines.equations]
        for function in lines.functions:
            bodies += [function.equation.body, *function.inside.values()]
        self.used = {letter(one) for body in bodies for one in symbols(body)}
        own: dict[tuple[str, int], list[Equation]] = {}
        for equation, _ in lines.equations:
            own.setdefault(self.key(equation.targets[0]), []).append(equation)
        for _ in range(4):  # later definitions become known in the next round
            for key, equations in own.items():
                if self.found.get(key) is None:
                    # The initial value may differ in size from those of all steps: h_0j, the word vectors.
                    general = [one for one in equations if not _is_certain(one)]
                    sizes = [self.of(equation.body, {}) for equation in general or equations]
                    self.found[key] = next((size for size in sizes if size is not None), None)
        for key, equations in own.items():
            general = [one for one in equations if not _is_certain(one)]
            if len({self.of(equation.body, {}) for equation in general}) > 1:
                self.found[key] = (
                    None  # sizes disagree: the frames of the first layer, the states of the others
                )

    def key(self, target: Symbol) -> tuple[str, int]:
        """The key of a symbol's size; m_1 and m_2 have separate ones if no equation defines every m_l."""
        arity, same = (
            len(target.items),
            [one for one, _ in self.lines.equations if one.targets[0].base == target.base],
        )
        certain = [all(isinstance(i, Number) for i in one.targets[0].items) for one in same]
        if arity and all(certain) and all(isinstance(item, Number) for item in target.items):
            return target.base + "".join(str(item.value) for item in target.items), arity
        return target.base, arity

    def of(self, node: Node, known: Mapping[str, Size]) -> Size:
        match node:
            case Number():
                return 1
            case Symbol():
                return self._symbol(node, known)
            case Call():
                return self._call(node, known)
            case Operation():
                return self._operation(node, known)
            case Single():
                return self.of(node.operand, known)
            case Reduction():
                if node.kind == "Σ":
                    return self.of(node.body, known)
                return 1 if node.kind in NUMBERS else self.length(node.index)
            case Item():
                return self._entry(node, known)
            case Concatenation():
                return self._concatenation(node, known)
            case Several():
                return self.of(node.parts[0], known)
            case Condition():
                return 1
        return None

    def length(self, index: str) -> Size:
        """Number of values of an index."""
        return length(self.lines.ranges[index]) if index in self.lines.ranges else None

    def _symbol(self, node: Symbol, known: Mapping[str, Size]) -> Size:
        if node.base in known and not node.items:
            return known[node.base]
        if node.base in ("0", "1") and node.items:
            return getattr(node.items[0], "value", None)
        tensor = self._weight(node, known)
        if tensor is not None:
            return self._rows(node, tensor) if tensor.tensor.dim() == 1 else None
        if self.key(node) in self.found:
            return self.found[self.key(node)]
        for arity in range(len(node.items), -1, -1):
            if (node.base, arity) in self.found:
                return self.found[node.base, arity] if arity == len(node.items) else 1
        return None

    def _weight(self, node: Symbol, known: Mapping[str, Any]) -> LetteredWeight | None:
        items = tuple(known.get(f"_{getattr(item, 'base', '')}", item) for item in node.items)
        name = letter(Symbol(node.base, items))
        return next((one for one in self.weights if one.letters and re.fullmatch(one.letters, name)), None)

    def _rows(self, node: Symbol, one: LetteredWeight) -> Size:
        """Number of rows of a weight; the share of one head if the symbol stands for one of several."""
        rows = one.tensor.shape[0]
        if "interface" in one.name:
            return None
        for item in node.items:
            several = self.length(item.base) if isinstance(item, Symbol) else None
            if isinstance(several, int) and several > 1 and letter(node)[0] in "QKVO" and item.base in "ηk":
                rows //= several
        alike = [other for other in self.weights if other.letters == one.letters and other.tensor.dim() > 1]
        if one.tensor.dim() == 3 or len({other.tensor.shape[0] for other in alike}) > 1:
            return None  # sizes differ by layer
        parts = {name for name in self.used if name[0] == letter(node)[0] and re.fullmatch(one.letters, name)}
        if len(parts) > 1:
            rows = rows // len(parts) if rows % len(parts) == 0 else rows
        if one.owner == "output" and letter(node).startswith(("V_", "b_")):
            return self.units or rows
        return rows

    def _call(self, node: Call, known: Mapping[str, Size]) -> Size:
        if node.base in self.cells:
            return self.cell_sizes.get(node.base)
        for function in self.lines.functions:
            target: Any = function.equation.targets[0]
            if target.base == node.base and node.base not in LIKE:
                names = [one.base for one in target.arguments]
                inner: dict[str, Any] = dict(
                    zip(names, [self.of(a, known) for a in node.arguments], strict=False)
                )
                for index, item in zip(target.items, node.items, strict=False):
                    inner[f"_{getattr(index, 'base', '')}"] = known.get(f"_{getattr(item, 'base', '')}", item)
                for _ in range(2):
                    for name, body in function.inside.items():
                        inner[name] = self.of(body, inner)
                return self.of(function.equation.body, inner)
        return self.of(node.arguments[0], known) if node.arguments and node.base in LIKE else None

    def _operation(self, node: Operation, known: Mapping[str, Size]) -> Size:
        left, right = node.left, node.right
        if node.sign == "·":
            return 1
        if node.sign in ("times", "*", "⋆"):
            for factor in (left,):
                tensor = self._weight(factor, known) if isinstance(factor, Symbol) else None
                if tensor is not None and tensor.tensor.dim() > 1:
                    if letter(factor).startswith("E_") and self.units and tensor.owner == "embedding":
                        return self.units
                    return self._rows(factor, tensor)
            first, second = self.of(left, known), self.of(right, known)
            return second if first == 1 else first
        if node.sign == "/":
            return self.of(left, known)
        first, second = self.of(left, known), self.of(right, known)
        return _larger(first, second)

    def _entry(self, node: Item, known: Mapping[str, Size]) -> Size:
        if isinstance(node.of, Symbol):
            tensor = self._weight(node.of, known)
            if tensor is not None:
                table = letter(node.of)[0] in "EGTRC" and tensor.tensor.dim() > 1
                return int(tensor.tensor.shape[-1]) if table else 1
            if node.of.base[0] in "GPRC" or node.of.base[0] == "Ġ":  # a cell of a grid has its features
                return self.of(node.of, known)
        return 1

    def _concatenation(self, node: Concatenation, known: Mapping[str, Size]) -> Size:
        total = 0
        for place, part in enumerate(node.parts):
            if part is None:
                first, last = node.parts[place - 1], node.parts[place + 1]
                times = self._times(first, last)
                size = self.of(first, known)
                if times is None or not isinstance(size, int):
                    return None
                total += size * (times - 2)
                continue
            size = self.of(part, known)
            if not isinstance(size, int):
                return None
            total += size
        return total or None

    def _times(self, first: Node, last: Node) -> int | None:
        """Number of items in `[a_1; …; a_4]`."""
        for one, other in zip(getattr(first, "items", ()), getattr(last, "items", ()), strict=False):
            if one != other and isinstance(one, Number) and isinstance(other, Number):
                return int(other.value) - int(one.value) + 1
        return None


def _is_certain(equation: Equation) -> bool:
    return any(isinstance(item, Number) for item in equation.targets[0].items)


def _larger(first: Size, second: Size) -> Size:
    """The size of a sum, in which one term may be a scalar added to a vector."""
    known = [size for size in (first, second) if size not in (None, 1)]
    return known[0] if known else None if None in (first, second) else 1


def length(range_: Range) -> Size:
    """Number of values of a range: a number, or the letter of its upper bound."""
    if range_.listed:
        return len(range_.values)
    if len(range_.values) != 2:
        return None
    first, last = range_.values
    if isinstance(first, Number) and isinstance(last, Number):
        return int(last.value) - int(first.value) + 1
    if isinstance(last, Symbol):
        below = "".join(getattr(item, "base", "") or str(getattr(item, "value", "")) for item in last.items)
        name = f"{last.base}_{below}" if below else last.base
        return f"({name} + 1)" if isinstance(first, Number) and first.value == 0 else name
    return None
