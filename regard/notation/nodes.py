"""The nodes of the syntax tree of a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from typing import Any

Node = Any
"""One of the classes below."""


@dataclass(frozen=True)
class Number:
    value: int | float


@dataclass(frozen=True)
class Symbol:
    """`W_rd`: base W, items r and d. Which items are indices is decided at evaluation."""

    base: str
    items: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Call:
    base: str
    items: tuple[Node, ...]
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Reduction:
    """Σ, softmax, max … over an index, where the conditions hold; entmax has a degree."""

    kind: str
    index: str
    conditions: tuple[Node, ...]
    body: Node
    degree: Node | None = None


@dataclass(frozen=True)
class Operation:
    """sign is one of + − · ⊙ * ⋆ / or `times` (juxtaposed factors)."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Single:
    """sign is one of − √ | ² ↓."""

    sign: str
    operand: Node


@dataclass(frozen=True)
class Item:
    """`A[i, j]`."""

    of: Node
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Concatenation:
    """`[a; b]`; None stands for `…`."""

    parts: tuple[Node | None, ...]


@dataclass(frozen=True)
class Condition:
    """`a < b ≤ c`; its value is 1 if it holds and 0 otherwise."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class Several:
    """`(a, b)`"""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Equation:
    """targets = body, if the conditions hold; a target is a Symbol or a Call."""

    targets: tuple[Node, ...]
    body: Node
    conditions: tuple[Condition, ...]
    text: str


@dataclass(frozen=True)
class Range:
    """`j = 1 … S`, `d ∈ {→, ←}`, or for structures `z ∈ {0, 1}^S`, `y ∈ projective(N)`, `y ∈ binary(N)`.

    values   the first and the last number, or all values
    power    the length of sequences of such values
    trees    the name of a set of trees, and their number of words
    """

    letter: str
    values: tuple[Node, ...] = ()
    listed: bool = False
    power: Node | None = None
    trees: tuple[str, Node] | None = None


def symbols(node: Node) -> Iterator[Symbol]:
    """All symbols of a tree."""
    if isinstance(node, Symbol):
        yield node
    parts = node if isinstance(node, tuple) else vars(node).values() if is_dataclass(node) else ()
    for part in parts:
        yield from symbols(part)


def differences(left: Node, right: Node) -> list[tuple[Node, Node]]:
    """The pairs of nodes at which two trees differ."""
    if left == right:
        return []
    if not alike(left, right):
        return [(left, right)]
    pairs = zip(parts_of(left), parts_of(right), strict=True)
    return [difference for one, other in pairs for difference in differences(one, other)]


def between(left: Node, right: Node, number: Number) -> Node:
    """The left tree, with this number at the positions where the two differ."""
    if left == right:
        return left
    if not alike(left, right):
        return number
    parts = [between(one, other, number) for one, other in zip(parts_of(left), parts_of(right), strict=True)]
    return tuple(parts) if isinstance(left, tuple) else type(left)(*parts)


def alike(left: Node, right: Node) -> bool:
    """Whether two trees differ in subscripts only: a_1 and a_K, but not a_1 and b_1."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right)
    named = type(left) is type(right) and isinstance(left, (Symbol, Call, Item))
    return named and getattr(left, "base", None) == getattr(right, "base", None)


def parts_of(node: Node) -> tuple[Node, ...]:
    return node if isinstance(node, tuple) else tuple(vars(node).values())
