"""The notation of boards: equations as in a lecture, which a program can evaluate.

One line is one equation, in Unicode text. Text after — is a note and is skipped.

    W x, 2 x        a matrix (or a number) times another value, with a space between them
    u·v   u ⊙ v     the dot product; the elementwise product. Both bind weaker than W x: u·W v is u·(W v)
    a + b  a / b    + and − of values of one shape, or with a number; the denominator is one factor
    [a; b]          concatenation; [c_1; …; c_K] of all from the first to the last
    A[i, j]         an entry, counted from 1 unless the binding says otherwise; of a matrix A[i] is a row
    Σ_j a_j         over all j; Σ_{j: j ≠ k} or Σ_{j<S} over those that satisfy it; extends to the next + or −
    softmax_j(e_j)  a vector over all j, 0 where a condition on j fails. Likewise max_j, min_j, argmax_j,
                    argmin_j, mean_j, sparsemax_j(e_j), entmax_j(e_j, a)
    sparsemap_z(ψ(z))  the mean μ = E_q[z] of structures z, 0 or 1 for each of their parts, for the distribution q
                    with the highest E_q[ψ(z)] − ½ ‖μ‖²: μ[j] of a sequence, μ[j, p] of heads p
    [a ≤ b]         1 where it holds, else 0
    |a|  √a  a²     of each feature
    W * x   W ⋆ x   convolution at every position with zero padding; without padding, where W fits
    0_D             a vector of D zeros
    x↓2             every second row and column of a map
    σ tanh exp log cos sin relu softmax max min mean maxpool meanpool     are predefined

Names may carry arrows, hats and primes: →h, ŝ, c′. A subscript, as in `W_r`, `e_tj`, `s_{t−1}`, is read
letter by letter, or between commas in braces. A letter in a subscript is an index if a line gives its range.
It is a number if the binding gives it a value (h_S), or an argmin or argmax finds one. Otherwise it is a part
of the name: the symbol of a weight names one tensor.

    j = 1 … S                       an index and its range; the range may depend on other indices: j = 1 … S_l
    d ∈ {→, ←}                      an index over labels: W_rd is W_r→ or W_r←
    z ∈ {0, 1}^S                    a sequence with elements z_j; Σ_z is over all of them
    y ∈ projective(N), spanning(N)  a tree with one root; y_j is the head of word j, 0 the root symbol
    y ∈ binary(N)                   a binary tree; y_ij is 1 if the words from i to j are one of its nodes, else 0
    s_t = …                         defines s_t for all t of its range; `for t = 2 … T` or `for j > S` narrows
                                    or widens the range
    f_d(x, h) = …                   a function; the indented lines below it are local to it
    h_t, c_t = f(…)                 a function may return several values: f(x) = (a, b)
    p(y_t) = …                      the probabilities of all values of y_t; p(y) is a function of y if y is a
                                    structure

`Board(lines, binding)` computes any symbol, with indices or without. Lines are parsed by
`regard.notation`; the values are computed here alone, in double precision. The binding supplies the tensors of
the remaining symbols: {"W_r": W, "x_j": X}, where X holds an x for each j, or {"E": Family(E, (0,))}, where
entries are counted from 0. Recurrences unroll by themselves, back to the given values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from regard.notation.grammar import OVER, Parser
from regard.notation.nodes import (
    Call,
    Concatenation,
    Condition,
    Item,
    Node,
    Number,
    Operation,
    Reduction,
    Several,
    Single,
    Symbol,
    between,
    differences,
    symbols,
)
from regard.notation.tokens import NotationError
from regard.testing.board.listing import Configuration, sequences, trees
from regard.testing.board.symbols import Known, Symbols, named, whole
from regard.testing.board.values import (
    COMPARED,
    FUNCTIONS,
    OPERATIONS,
    SINGLES,
    Family,
    Value,
    entry,
    gathered,
    join,
    tensor,
)

__all__ = ["Board", "Family", "NotationError"]


class LocalValues(dict[str, Value]):
    """The known values in a call; local lines of the function are computed on demand."""

    def __init__(self, known: Known, lines: Mapping[str, Node]) -> None:
        super().__init__(known)
        self.lines = dict(lines)


class Board(Symbols):
    """The equations of `lines`, with the tensors of `binding` for symbols that they do not define."""

    # Queries.

    def __call__(self, text: str, **known: Value) -> Value:
        """`board("s_t", t=3)`, `board("Σ_t e_t")`: a Tensor, or a number."""
        found = self.value(Parser(text).expression(), dict(known))
        return found.tensor if isinstance(found, Family) else found

    def all(self, text: str) -> torch.Tensor:
        """A symbol for every value of its indices: `board.all("α_tj")` is (T, S)."""
        letters = [item.base for item in self.target(Parser(text).factor()).items if self.is_index(item)]

        def under(known: Known, left: list[str]) -> torch.Tensor:
            if not left:
                return tensor(self.value(Parser(text).expression(), known))
            return torch.stack(
                [under({**known, left[0]: one}, left[1:]) for one in self.over(left[0], known)]
            )

        return under({}, letters)

    # Expressions.

    def value(self, node: Node, known: Known) -> Value:
        node = self.target(node)
        match node:
            case Number():
                return node.value
            case Symbol():
                return self.symbol(node, known)
            case Call():
                return self.call(node, known)
            case Reduction():
                return self.sum(node, known)
            case Operation():
                return OPERATIONS[node.sign](self.value(node.left, known), self.value(node.right, known))
            case Single():
                return SINGLES[node.sign](self.value(node.operand, known))
            case Item():
                return whole(
                    entry(self.value(node.of, known), [self.value(one, known) for one in node.items])
                )
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
            if isinstance(here, (Configuration, Family)):
                return whole(entry(here, self.items(node, known)))
            return self.lookup(node.base, self.items(node, known))
        if here is None and isinstance(known, LocalValues) and node.base in known.lines:
            here = known[node.base] = self.value(known.lines[node.base], known)
        if here is not None:
            return here
        if node.base in self.sizes:
            return self.sizes[node.base]
        if node.base in self.ranges:
            raise NotationError(f"{node.base} is an index, and nothing says which one")
        return self.lookup(node.base, ())

    def call(self, node: Call, known: Known) -> Value:
        self._refuse_unknown(node)
        arguments = tuple(self.value(one, known) for one in node.arguments)
        if node.base in FUNCTIONS and not node.items:
            return FUNCTIONS[node.base](*arguments)
        items = self.items(node, known)
        plain = all(isinstance(one, (int, str, Configuration)) for one in arguments)
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
                answer = self.value(function.equation.body, LocalValues(found, function.inside))
                if plain:
                    self.found[key] = answer
                return answer
        raise NotationError(f"there is no function {named(node.base, items)}{self._near(node.base)}")

    def _refuse_unknown(self, node: Call) -> None:
        """Before the arguments are computed: an index that an unknown function is over would be blamed instead."""
        defined = {function.equation.targets[0].base for function in self.functions}
        if node.base in defined or (node.base in FUNCTIONS and not node.items):
            return
        below = "".join(str(getattr(one, "base", getattr(one, "value", "…"))) for one in node.items)
        over = f"; over an index are {', '.join(OVER)}" if any(map(self.is_index, node.items)) else ""
        shown = f"{node.base}_{below}" if below else node.base
        raise NotationError(f"there is no function {shown}{self._near(node.base)}{over}")

    # Reductions.

    def over(self, letter: str, known: Known) -> list[Value]:
        """The values that an index or a structure ranges over."""
        if letter not in self.ranges:
            raise NotationError(f"no line says what {letter} goes over")
        given = self.ranges[letter]
        if given.trees is not None:
            return trees(given.trees[0], self.value(given.trees[1], known))
        values: list[Any] = [self.item(value, known) for value in given.values]
        if not given.listed:
            values = list(range(values[0], values[1] + 1))
        return values if given.power is None else sequences(values, self.value(given.power, known))

    def sum(self, node: Reduction, known: Known) -> Value:
        """Cached by the values of the letters that it depends on."""
        if node.kind not in ("Σ", *OVER):
            self._refuse_unknown(Call(node.kind, (Symbol(node.index),), ()))
        inside = known.lines if isinstance(known, LocalValues) else {}
        names = self.names_of(node)
        depends = tuple((name, known[name]) for name in sorted(names) if name in known)
        if any(name in inside for name in names) or not all(
            isinstance(value, (int, str, Configuration)) for _, value in depends
        ):
            return self._sum(node, known)
        key = (id(node), depends)
        if key not in self.found:
            self.found[key] = self._sum(node, known)
        return self.found[key]

    def names_of(self, node: Reduction) -> set[str]:
        """The letters in a sum and in the ranges of its indices."""
        if id(node) not in self.letters:
            ranges = [self.ranges[one.base] for one in symbols(node) if one.base in self.ranges]
            ranges += [self.ranges[node.index]] if node.index in self.ranges else []
            self.letters[id(node)] = {one.base for part in (node, *ranges) for one in symbols(part)}
        return self.letters[id(node)]

    def _sum(self, node: Reduction, known: Known) -> Value:
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
        degree = None if node.degree is None else self.value(node.degree, known)
        return gathered(node.kind, torch.stack(bodies), [value for value, _ in held], values, degree)

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
        """[a; …; b] with all elements between them."""
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


def nested(known: Known, letter: str, value: Value) -> Known:
    """The known values and one more index; local lines of a function are computed again with it."""
    if isinstance(known, LocalValues):
        kept = {name: one for name, one in known.items() if name not in known.lines}
        return LocalValues({**kept, letter: value}, known.lines)
    return {**known, letter: value}
