"""A binary tree in brackets with a number at each leaf: ((1 0.5) (-1 2))."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.errors import RegardError

MOST_LEAVES = 8
PIECE = re.compile(r"[()]|[^()\s]+")


@dataclass(frozen=True)
class Bracketed:
    """The tree with its nodes in post-order.

    parents       the parent of each node; −1 for the root
    inner         node, left child and right child of each inner node
    leaves        the numbers, from left to right; `leaf_places` are their nodes
    names         each node in brackets
    """

    parents: Sequence[int]
    inner: Sequence[tuple[int, int, int]]
    leaves: Sequence[float]
    leaf_places: list[int]
    names: Sequence[str]


@dataclass
class _Reader:
    pieces: list[str]
    parents: list[int] = field(default_factory=list)
    inner: list[tuple[int, int, int]] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def node(self) -> int:
        if not self.pieces:
            raise ValueError("a bracket is not closed")
        piece = self.pieces.pop(0)
        if piece == ")":
            raise ValueError("a node needs two children")
        if piece != "(":
            return self.leaf(piece)
        left, right = self.node(), self.node()
        if not self.pieces or self.pieces.pop(0) != ")":
            raise ValueError("a node needs two children")
        place = self.add(f"({self.names[left]} {self.names[right]})")
        self.parents[left] = self.parents[right] = place
        self.inner.append((place, left, right))
        return place

    def leaf(self, piece: str) -> int:
        try:
            value = float(piece)
        except ValueError:
            value = math.nan
        if not abs(value) <= 100:
            raise ValueError(f"{piece!r} is no number from -100 to 100")
        self.leaves.append(value)
        self.places.append(self.add(piece))
        return self.places[-1]

    def add(self, name: str) -> int:
        self.parents.append(-1)
        self.names.append(name)
        return len(self.names) - 1


def read_numbers(text: str) -> Bracketed:
    """Read a tree of two to eight leaves."""
    reader = _Reader(PIECE.findall(text))
    try:
        reader.node()
        if reader.pieces:
            raise ValueError(f"{' '.join(reader.pieces)!r} stands after the tree")
        if not 2 <= len(reader.leaves) <= MOST_LEAVES:
            raise ValueError(f"it has {len(reader.leaves)} leaves, expected 2 to {MOST_LEAVES}")
    except ValueError as error:
        raise RegardError(
            f"this is not a binary tree of numbers: {error}.",
            where="--set tree",
            fix="For example  --set 'tree=((1 0.5) (-1 2))'",
        ) from None
    return Bracketed(reader.parents, reader.inner, reader.leaves, reader.places, reader.names)
