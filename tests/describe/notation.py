"""The notation of boards: equations as a lecturer writes them, which a program can evaluate.

One line is one equation, in Unicode text. What follows — is a note and is skipped.

    W x, 2 x        a matrix (or a number) and what it is multiplied with, a space between them
    u·v   u ⊙ v     the dot product; the product feature by feature. Both after W x: u·W v is u·(W v)
    a + b  a / b    + and − of things of one shape, or with a number; under / stands one factor
    [a; b]          concatenation; [c_1; …; c_K] of all from the first to the last
    A[i, j]         an entry, counted from 1 unless the binding says otherwise; of a matrix A[i] is a row
    Σ_j a_j         over all j; Σ_{j: j ≠ k} or Σ_{j<S} over those that fulfil it; up to the next + or −
    softmax_j(e_j)  a vector over all j, 0 where a condition below does not hold. So max_j, min_j, argmax_j, argmin_j,
                    mean_j
    [a ≤ b]         1 where it holds, else 0
    |a|  √a  a²     of each feature
    W * x   W ⋆ x   convolution at every place, nothing outside; at every place where W fits
    0_D             a vector of D zeros
    x↓2             every second row and column of a map
    σ tanh exp log relu softmax max min mean maxpool meanpool     are known

Names may carry arrows, hats and primes: →h, ŝ, c′. What stands below a name, `W_r`, `e_tj`, `s_{t−1}`, is read letter by
letter, or between commas in braces. A letter there is an index where a line has said what it goes over, a number where
the binding gives it one (h_S) or an argmin or argmax finds it, and otherwise a part of the name: the symbol of a weight
names one tensor.

    j = 1 … S                       an index and its range; the range may depend on other indices: j = 1 … S_l
    d ∈ {→, ←}                      an index over labels: W_rd is W_r→ or W_r←
    z ∈ {0, 1}^S                    a sequence, of which z_j is the j-th; Σ_z goes over all of them
    y ∈ projective(N), spanning(N)  a tree with one root; y_j is the head of word j, 0 the root symbol
    s_t = …                         defines s_t for all t of its range; `for t = 2 … T` or `for j > S` narrows or widens
    f_d(x, h) = …                   a function; the indented lines below it are known inside alone
    h_t, c_t = f(…)                 a function may give several things: f(x) = (a, b)
    p(y_t) = …                      the probabilities of all values of y_t; p(y) of a y that goes over structures is a
                                    function of it

`Board(lines, binding)` computes any symbol, with indices or without; nothing of `regard` takes part in it. A binding
gives the tensors of the other symbols: {"W_r": W, "x_j": X} where X holds an x for each j; {"E": Family(E, (0,))} where
entries are counted from 0. Recurrences unroll by themselves, back to what is given.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import torch

from tests.describe.grammar import (
    Call,
    Concatenation,
    Condition,
    Entry,
    Equation,
    Node,
    Number,
    Operation,
    Over,
    Parser,
    Range,
    Several,
    Single,
    Symbol,
)
from tests.describe.listing import Chosen, sequences, trees
from tests.describe.tokens import NotationError, tokens
from tests.describe.values import FUNCTIONS, OPERATIONS, SINGLES, Family, Value, entry, join, tensor

__all__ = ["Board", "Family", "NotationError"]

Known = dict[str, Value]
"""The indices, parameters and structures that have a value where something is computed."""


@dataclass(frozen=True)
class Function:
    """An equation that defines a function, and the lines that are known inside it."""

    equation: Equation
    inside: dict[str, Node] = field(default_factory=dict)


class Inside(dict[str, Value]):
    """What is known in a call: the lines inside the function are computed when asked for."""

    def __init__(self, known: Known, lines: Mapping[str, Node]) -> None:
        super().__init__(known)
        self.lines = dict(lines)


class Board:
    """The equations of `lines`, with the tensors of `binding` for what they do not define."""

    def __init__(self, lines: str | Iterable[str], binding: Mapping[str, Value]) -> None:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))
        self.ranges: dict[str, Range] = {}
        self.equations: list[tuple[Equation, int | None]] = []
        self.functions: list[Function] = []
        for line in lines.splitlines() if isinstance(lines, str) else lines:
            if tokens(line)[0].kind != "end":
                self._read(line)
        self.binding = {name: value for name, value in binding.items() if not isinstance(value, int)}
        self.sizes = {name: value for name, value in binding.items() if isinstance(value, int)}
        self.targets = [self._target(Parser(name).factor()) for name in self.binding]
        self.places = {
            equation.targets[0].base
            for equation, _ in self.equations
            if isinstance(equation.body, Over)
            and equation.body.kind in ("argmin", "argmax")
            and not equation.targets[0].items
        }
        self.used: set[str] = set()
        self.found: dict[tuple[Any, ...], Value] = {}

    # Lines.

    def _read(self, line: str) -> None:
        said = Parser(line).line_of_text()
        if isinstance(said, list):
            for one in said:
                if self.ranges.setdefault(one.letter, one) != one:
                    raise NotationError(f"{one.letter} goes over two things: {line.strip()}")
            return
        if line[0].isspace() and self.functions:
            for target in said.targets:
                self.functions[-1].inside[target.base] = said.body
            return
        first = self._target(said.targets[0])
        if isinstance(first, Call):
            self.functions.append(Function(replace(said, targets=(first,))))
        elif len(said.targets) == 1:
            self.equations.append((replace(said, targets=(first,)), None))
        else:
            for place, target in enumerate(said.targets):
                self.equations.append((replace(said, targets=(target,)), place))

    def _target(self, node: Node) -> Node:
        """p(y_t) is a name, unless y goes over structures."""
        if isinstance(node, Call) and node.base == "p" and isinstance(node.arguments[0], Symbol):
            of = node.arguments[0]
            if not (of.base in self.ranges and self._is_structure(of.base)):
                return Symbol(f"p({of.base})", of.items)
        return node

    def _is_structure(self, letter: str) -> bool:
        kind = self.ranges[letter]
        return kind.power is not None or kind.trees is not None

    # What is asked for.

    def __call__(self, text: str, **known: Value) -> Value:
        """`board("s_t", t=3)`, `board("Σ_t e_t")`: a Tensor, or a number."""
        found = self.value(Parser(text).expression(), dict(known))
        return found.tensor if isinstance(found, Family) else found

    def all(self, text: str) -> torch.Tensor:
        """A symbol for every value of its indices: `board.all("α_tj")` is (T, S)."""
        letters = [item.base for item in self._target(Parser(text).factor()).items if self._is_index(item)]

        def under(known: Known, left: list[str]) -> torch.Tensor:
            if not left:
                return tensor(self.value(Parser(text).expression(), known))
            return torch.stack([under({**known, left[0]: one}, left[1:]) for one in self.over(left[0], known)])

        return under({}, letters)

    def unused(self) -> set[str]:
        """The names of the binding that nothing asked for."""
        return set(self.binding) - self.used

    # Expressions.

    def value(self, node: Node, known: Known) -> Value:
        node = self._target(node)
        match node:
            case Number():
                return node.value
            case Symbol():
                return self.symbol(node, known)
            case Call():
                return self.call(node, known)
            case Over():
                return self.sum(node, known)
            case Operation():
                return OPERATIONS[node.sign](self.value(node.left, known), self.value(node.right, known))
            case Single():
                return SINGLES[node.sign](self.value(node.operand, known))
            case Entry():
                return whole(entry(self.value(node.of, known), [self.value(one, known) for one in node.items]))
            case Concatenation():
                return join([self.value(part, known) for part in self.written_out(node.parts, known)])
            case Condition():
                return int(self.holds([node], known))
            case Several():
                return tuple(self.value(part, known) for part in node.parts)
        raise NotationError(f"{node} cannot be computed")

    def symbol(self, node: Symbol, known: Known) -> Value:
        if node.base == "0":
            return torch.zeros(self.items(node, known), dtype=torch.float64)
        here = known.get(node.base)
        if node.items:
            if isinstance(here, (Chosen, Family)):
                return whole(entry(here, self.items(node, known)))
            return self.lookup(node.base, self.items(node, known))
        if here is None and isinstance(known, Inside) and node.base in known.lines:
            here = known[node.base] = self.value(known.lines[node.base], known)
        if here is not None:
            return here
        if node.base in self.sizes:
            return self.sizes[node.base]
        if node.base in self.ranges:
            raise NotationError(f"{node.base} is an index, and nothing says which one")
        return self.lookup(node.base, ())

    def items(self, node: Symbol | Call, known: Known) -> tuple[Value, ...]:
        return tuple(self.item(item, known) for item in node.items)

    def item(self, node: Node, known: Known) -> int | str:
        """A number, or a part of the name."""
        if not isinstance(node, Symbol) or node.items:
            found = self.value(node, known)
        elif isinstance(known.get(node.base), (int, str)):
            found = known[node.base]
        elif node.base in self.sizes:
            found = self.sizes[node.base]
        elif self._is_index(node):
            raise NotationError(f"{node.base} is an index, and nothing says which one")
        elif node.base in self.places:
            found = self.lookup(node.base, ())
        else:
            found = node.base
        if not isinstance(found, (int, str)):
            raise NotationError(f"below a name stands a whole number or a letter; received {found!r}")
        return found

    def _is_index(self, item: Node) -> bool:
        return (
            isinstance(item, Symbol)
            and not item.items
            and item.base in self.ranges
            and not self._is_structure(item.base)
        )

    def lookup(self, base: str, items: tuple[Value, ...]) -> Value:
        """A symbol of the board: by its equation, else by the binding, else as an entry of a shorter one."""
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
            (name, value, target, known)
            for (name, value), target in zip(self.binding.items(), self.targets, strict=True)
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
            raise NotationError(f"{named(base, items)} is on the board and in the binding: {fitting[0][1].text}")
        if fitting:
            _, equation, place, known = fitting[0]
            try:
                found = self.value(equation.body, known)
            except NotationError as error:
                if "\n" in str(error):
                    raise
                raise NotationError(f"{error}\n    {equation.text}\n    for {named(base, items)}") from None
            return found if place is None else found[place]
        for name, value, target, known in given:
            self.used.add(name)
            return self._of_family(target, value, known)
        if items and isinstance(items[-1], int) and self._is_known(base, items[:-1]):
            family = self.lookup(base, items[:-1])
            if isinstance(family, Family):
                return whole(entry(family, items[-1:]))
        raise NotationError(f"nothing gives {named(base, items)}{self._near(base)}")

    def _is_known(self, base: str, items: tuple[Value, ...]) -> bool:
        targets = [(equation.targets[0], equation.conditions) for equation, _ in self.equations]
        targets += [(target, ()) for target in self.targets]
        return any(self.fits(target, conditions, base, items) is not None for target, conditions in targets)

    def _of_family(self, target: Symbol, value: Value, known: Known) -> Value:
        for item in target.items:
            if self._is_index(item):
                first = self.over(item.base, known)[0]
                family = value if isinstance(value, Family) else Family(value, (first,))
                value = entry(family, [known[item.base]])
        return whole(value)

    def fits(
        self, target: Symbol | Call, conditions: tuple[Condition, ...], base: str, items: tuple[Value, ...]
    ) -> Known | None:
        """The values of the indices with which the target is that symbol; None where there are none."""
        if target.base != base or len(target.items) != len(items):
            return None
        known: Known = {}
        free = {one.base for condition in conditions for one in symbols(condition)}
        for pattern, item in zip(target.items, items, strict=True):
            if not self._is_index(pattern) or pattern.base in known:
                if self.item(pattern, known) != item:
                    return None
            elif pattern.base in free and isinstance(item, int):
                known[pattern.base] = item
            elif item in self.over(pattern.base, known):
                known[pattern.base] = item
            else:
                return None
        return known if self.holds(conditions, known) else None

    def call(self, node: Call, known: Known) -> Value:
        arguments = tuple(self.value(one, known) for one in node.arguments)
        if node.base in FUNCTIONS and not node.items:
            return FUNCTIONS[node.base](*arguments)
        items = self.items(node, known)
        plain = all(isinstance(one, (int, str, Chosen)) for one in arguments)
        key = (node.base, items, arguments)
        if plain and key in self.found:
            return self.found[key]
        for function in self.functions:
            target = function.equation.targets[0]
            found = self.fits(target, function.equation.conditions, node.base, items)
            if found is not None and isinstance(target, Call):
                if len(target.arguments) != len(arguments):
                    raise NotationError(f"{node.base} takes {len(target.arguments)} things")
                found |= {one.base: value for one, value in zip(target.arguments, arguments, strict=True)}
                answer = self.value(function.equation.body, Inside(found, function.inside))
                if plain:
                    self.found[key] = answer
                return answer
        raise NotationError(f"there is no function {named(node.base, items)}{self._near(node.base)}")

    # Sums, and what is like them.

    def over(self, letter: str, known: Known) -> list[Value]:
        """The values an index or a structure goes through."""
        if letter not in self.ranges:
            raise NotationError(f"no line says what {letter} goes over")
        given = self.ranges[letter]
        if given.trees is not None:
            return trees(given.trees[0], self.value(given.trees[1], known))
        values = [self.item(value, known) for value in given.values]
        if not given.listed:
            values = list(range(values[0], values[1] + 1))
        return values if given.power is None else sequences(values, self.value(given.power, known))

    def sum(self, node: Over, known: Known) -> Value:
        values = self.over(node.index, known)
        cases = [(value, nested(known, node.index, value)) for value in values]
        held = [(value, case) for value, case in cases if self.holds(node.conditions, case)]
        if not held:
            if node.kind == "Σ":
                return 0
            raise NotationError(f"{node.kind} over no {node.index}")
        bodies = [tensor(self.value(node.body, case)) for _, case in held]
        if len({body.shape for body in bodies}) > 1:
            raise NotationError(f"{node.kind}_{node.index} over things of several shapes")
        together = torch.stack(bodies)
        match node.kind:
            case "Σ":
                return together.sum(0)
            case "mean":
                return together.mean(0)
            case "max":
                return together.amax(0)
            case "min":
                return together.amin(0)
            case "argmax" | "argmin":
                best = together.argmax() if node.kind == "argmax" else together.argmin()
                return held[int(best)][0]
        spread = dict(zip((value for value, _ in held), torch.softmax(together, 0), strict=True))
        nothing = torch.zeros((), dtype=torch.float64)
        weights = torch.stack([spread.get(value, nothing) for value in values])
        return Family(weights, (values[0],)) if isinstance(values[0], int) else weights

    def holds(self, conditions: Iterable[Condition], known: Known) -> bool:
        for condition in conditions:
            left = self.value(condition.first, known)
            for sign, node in condition.rest:
                right = self.value(node, known)
                if not COMPARED[sign](left, right):
                    return False
                left = right
        return True

    def written_out(self, parts: tuple[Node | None, ...], known: Known) -> list[Node]:
        """[a; …; b] with all that stands between."""
        found: list[Node] = []
        for place, part in enumerate(parts):
            if part is not None:
                found.append(part)
                continue
            first, last = parts[place - 1], parts[place + 1]
            ends = set(differences(first, last))
            if len(ends) != 1:
                raise NotationError("what stands left and right of … differs in one number")
            low, high = (self.value(end, known) for end in ends.pop())
            found += [between(first, last, Number(number)) for number in range(low + 1, high)]
            if high == low:
                found.pop()
        return found

    def _near(self, base: str) -> str:
        names = {str(equation.targets[0].base) for equation, _ in self.equations} | {
            target.base for target in self.targets
        }
        names |= {function.equation.targets[0].base for function in self.functions} | set(FUNCTIONS)
        same = sorted(name for name in self.binding if name.split("_")[0] == base)
        near = same or difflib.get_close_matches(base, names, n=3)
        return f"; there is {', '.join(near)}" if near else ""


COMPARED = {
    "=": lambda left, right: left == right,
    "≠": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "≤": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    "≥": lambda left, right: left >= right,
}


def nested(known: Known, letter: str, value: Value) -> Known:
    """What is known, and one index more; lines inside a function are computed anew with it."""
    if isinstance(known, Inside):
        kept = {name: one for name, one in known.items() if name not in known.lines}
        return Inside({**kept, letter: value}, known.lines)
    return {**known, letter: value}


def named(base: str, items: tuple[Value, ...]) -> str:
    below = [str(item) for item in items]
    if not below:
        return base
    return f"{base}_{{{','.join(below)}}}" if any(len(one) > 1 for one in below) else f"{base}_{''.join(below)}"


def whole(value: Value) -> Value:
    """A position or an id is a plain number."""
    if isinstance(value, torch.Tensor) and not value.ndim and not value.is_floating_point():
        return int(value)
    return value


def symbols(node: Node) -> list[Symbol]:
    """All symbols of a tree."""
    if isinstance(node, tuple):
        return [one for part in node for one in symbols(part)]
    inner = [one for part in vars(node).values() for one in symbols(part)] if is_dataclass(node) else []
    return [node, *inner] if isinstance(node, Symbol) else inner


def differences(left: Node, right: Node) -> list[tuple[Node, Node]]:
    """Where two trees are not the same."""
    if left == right:
        return []
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return [pair for one, other in zip(left, right, strict=True) for pair in differences(one, other)]
    if type(left) is type(right) and isinstance(left, (Symbol, Call, Entry)):
        if getattr(left, "base", None) == getattr(right, "base", None):
            parts = zip(vars(left).values(), vars(right).values(), strict=True)
            return [pair for one, other in parts for pair in differences(one, other)]
    return [(left, right)]


def between(left: Node, right: Node, number: Number) -> Node:
    """The left tree with that number where the two differ."""
    if left == right:
        return left
    if isinstance(left, tuple):
        return tuple(between(one, other, number) for one, other in zip(left, right, strict=True))
    if type(left) is type(right) and isinstance(left, (Symbol, Call, Entry)):
        if getattr(left, "base", None) == getattr(right, "base", None):
            return type(left)(*(between(a, b, number) for a, b in zip(vars(left).values(), vars(right).values())))
    return number
