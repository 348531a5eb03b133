"""Sizes of the symbols on a board, inferred from the equations and the shapes of the weights.

The size of a vector is a number, or a letter if it depends on the data (S positions, V(target) words). A size that
cannot be inferred is None, and is not shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from regard.describe.weights import LetteredWeight
from regard.notation import (
    Call,
    Concatenation,
    Condition,
    Equation,
    Function,
    Item,
    Node,
    Number,
    Operation,
    Range,
    Reduction,
    Several,
    Single,
    Symbol,
)
from regard.notation.grammar import NUMBERS

if TYPE_CHECKING:
    from regard.describe.graph.part_board import PartBoard

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
    grown   the parameters with a row for each unit of it
    """

    def __init__(self, board: PartBoard, outside: Known, units: str, grown: Collection[str] = ()) -> None:
        self.board, self.lines, self.units, self.grown = board, board.lines, units, grown
        lines = board.lines
        self.found: dict[tuple[str, int], Size] = dict(outside)
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
            return self._rows(tensor) if tensor.tensor.dim() == 1 else None
        if self.key(node) in self.found:
            return self.found[self.key(node)]
        for arity in range(len(node.items), -1, -1):
            if (node.base, arity) in self.found:
                return self.found[node.base, arity] if arity == len(node.items) else 1
        return None

    def _weight(self, node: Symbol, known: Mapping[str, Any]) -> LetteredWeight | None:
        items = tuple(known.get(f"_{getattr(item, 'base', '')}", item) for item in node.items)
        known_symbol = Symbol(node.base, items)
        if self.board.is_value(known_symbol):
            return None
        found = (
            one
            for one in self.board.weights
            if not one.whole and self.board.is_of(one, known_symbol, any_of=True)
        )
        return next(found, None)

    def _rows(self, one: LetteredWeight) -> Size:
        """Number of rows of a weight; the share of one head if its letter stands for one of several."""
        if len(one.letters) > 1:
            return None  # pieces of different sizes
        alike = [other for other in self.board.weights if other.letters == one.letters]
        layers = {other.rows for other in alike if other.tensor.dim() > 1 or one.tensor.dim() == 1}
        if one.tensor.dim() == 3 or len(layers) > 1:
            return None  # sizes differ by layer
        if one.name in self.grown and self.units:
            return self.units
        rows = one.rows
        for index in self._pieces(one):
            several = self.length(index)
            if isinstance(several, int) and several > 1:
                rows //= several
        return rows

    def _pieces(self, one: LetteredWeight) -> list[str]:
        """The indices of pieces of a weight: η of Q_lη, but not l, the number of its module."""
        indices = [item.base for item in one.letters[0].items if self.lines.is_index(item)]
        return indices[one.numbered :]

    def _call(self, node: Call, known: Mapping[str, Size]) -> Size:
        for function in self.board.called(node):
            target: Any = function.equation.targets[0]
            if node.base not in LIKE:
                names = [one.base for one in target.arguments]
                inner: dict[str, Any] = dict(
                    zip(names, [self.of(a, known) for a in node.arguments], strict=False)
                )
                for index, item in zip(target.items, node.items, strict=False):
                    inner[f"_{getattr(index, 'base', '')}"] = known.get(f"_{getattr(item, 'base', '')}", item)
                return self.of_function(function, inner)
        return self.of(node.arguments[0], known) if node.arguments and node.base in LIKE else None

    def of_function(self, function: Function, known: Mapping[str, Any]) -> Size:
        """The size of the first result of a function, with these sizes of its parameters."""
        inner = dict(known)
        for _ in range(2):
            for name, body in function.inside.items():
                inner[name] = self.of(body, inner)
        return self.of(function.equation.body, inner)

    def _operation(self, node: Operation, known: Mapping[str, Size]) -> Size:
        left, right = node.left, node.right
        if node.sign == "·":
            return 1
        if node.sign in ("times", "*", "⋆"):
            for factor in (left,):
                tensor = self._weight(factor, known) if isinstance(factor, Symbol) else None
                if tensor is not None and tensor.tensor.dim() > 1:
                    return self._rows(tensor)
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
                taken = len(node.items) + len(self._pieces(tensor))
                return int(tensor.tensor.shape[-1]) if tensor.tensor.dim() > taken else 1
            if node.of.base[0].isupper():  # a cell of a grid has its features
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
