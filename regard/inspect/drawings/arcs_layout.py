"""Layout of dependency arcs in integers: a level for each arc, and a port for each of its ends.

The drawings in pixels and in characters share it. The level of an arc is one more than the highest level below it, so
that heights follow the nesting and short arcs stay low in long sentences. At a word, arcs to the left come before arcs
to the right, low ones outermost, so that arcs whose spans do not cross do not cross as lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from regard.inspect.writing import visible

if TYPE_CHECKING:
    from regard.inspect.drawings.arcs import ArcDiagram

Role = Literal["best", "wrong", "missed", "other"]


@dataclass(frozen=True)
class Arc:
    """An arc from `head` to `child`, words from 1 and 0 the root.

    role       best: in the best tree, and true as far as known; wrong: in the best tree, but not true; missed: true,
               but not in the best tree; other: in neither, but probable
    strength   its marginal; 1 if unknown
    known      whether the marginal is known
    """

    head: int
    child: int
    role: Role
    strength: float = 1.0
    known: bool = False
    label: str = ""

    @property
    def left(self) -> int:
        return min(self.head, self.child) if self.head else self.child

    @property
    def right(self) -> int:
        return max(self.head, self.child)

    def meets(self, other: Arc) -> bool:
        """Whether two arcs overlap by more than an end and need different levels; a root occupies a single word."""
        if not self.head and not other.head:
            return False
        if not self.head or not other.head:
            root, bow = (self, other) if not self.head else (other, self)
            return bow.left <= root.child <= bow.right
        return self.left < other.right and other.left < self.right


def arcs_above(diagram: ArcDiagram) -> list[Arc]:
    """The best tree, and the most probable of the other arcs; an uncertain tree has too many to show all."""
    found: list[Arc] = []
    for child, head in enumerate(diagram.arcs.heads.tolist(), 1):
        if head >= 0:
            true = _true_head(diagram, child)
            role: Role = "wrong" if true >= 0 and true != head else "best"
            found.append(_arc(diagram, head, child, role, _relation(diagram, child, true == head)))
    return [*found, *arcs_outside(diagram)[: len(diagram.words) // 4 + 2]]


def arcs_outside(diagram: ArcDiagram) -> list[Arc]:
    """Arcs whose marginal reaches the threshold, but that are neither in the best tree nor true; strongest first."""
    marginals = diagram.arcs.marginals
    if marginals is None:
        return []
    found = [
        _arc(diagram, other, child, "other", "")
        for child, head in enumerate(diagram.arcs.heads.tolist(), 1)
        for other in range(len(diagram.words) + 1)
        if other not in (head, child, _true_head(diagram, child))
        and marginals[other, child] >= diagram.threshold
    ]
    return sorted(found, key=lambda arc: -arc.strength)


def _true_head(diagram: ArcDiagram, child: int) -> int:
    """The true head of a word; −1 if unknown."""
    return -1 if diagram.arcs.true_heads is None else int(diagram.arcs.true_heads[child - 1])


def arcs_below(diagram: ArcDiagram) -> list[Arc]:
    """The true arcs that are not in the best tree."""
    arcs = diagram.arcs
    if arcs.true_heads is None:
        return []
    pairs = enumerate(zip(arcs.heads.tolist(), arcs.true_heads.tolist(), strict=True), 1)
    return [
        _arc(diagram, true, child, "missed", _named(arcs.true_relations, child))
        for child, (head, true) in pairs
        if true >= 0 and true != head
    ]


def _arc(diagram: ArcDiagram, head: int, child: int, role: Role, label: str) -> Arc:
    marginals = diagram.arcs.marginals
    known = marginals is not None
    strength = 1.0 if marginals is None else min(1.0, max(0.0, float(marginals[head, child])))
    return Arc(head, child, role, strength, known, label)


def _named(relations: Sequence[str], child: int) -> str:
    return visible(relations[child - 1]) if relations and relations[child - 1] else ""


def _relation(diagram: ArcDiagram, child: int, attached: bool) -> str:
    """The predicted relation, followed by the true one if only the relation is wrong: "nsubj≠obj"."""
    found, true = _named(diagram.arcs.relations, child), _named(diagram.arcs.true_relations, child)
    return f"{found}≠{true}" if attached and found and true and found != true else found


def levels(arcs: Sequence[Arc]) -> list[int]:
    """A level from 1 for each arc, above all shorter arcs that it meets. Roots are above all arcs that they meet."""
    order = sorted(
        range(len(arcs)), key=lambda i: (not arcs[i].head, arcs[i].right - arcs[i].left, arcs[i].left)
    )
    found = [0] * len(arcs)
    for place, i in enumerate(order):
        found[i] = 1 + max((found[j] for j in order[:place] if arcs[i].meets(arcs[j])), default=0)
    return found


@dataclass(frozen=True)
class Ports:
    """Positions of the ends of arcs at the words.

    count   `count[m - 1]` ends at word m
    ends    for each arc, its position (from 0, from the left) at its head and at its child; −1 at the root symbol
    """

    count: tuple[int, ...]
    ends: tuple[tuple[int, int], ...]


def ports(arcs: Sequence[Arc], heights: Sequence[int], words: int) -> Ports:
    """Ends to the left by ascending level, then roots, then ends to the right by descending level."""
    at: list[list[tuple[int, int, int]]] = [[] for _ in range(words)]
    for i, (arc, height) in enumerate(zip(arcs, heights, strict=True)):
        for end, other in ((arc.head, arc.child), (arc.child, arc.head)):
            if not end:
                continue
            side = 0 if not other else other - end
            key = (-1, height) if side < 0 else (1, -height) if side > 0 else (0, 0)
            at[end - 1].append((*key, i))
    ends = [[-1, -1] for _ in arcs]
    for word, listed in enumerate(at, 1):
        for place, (_, _, i) in enumerate(sorted(listed)):
            ends[i][0 if arcs[i].head == word else 1] = place
    return Ports(tuple(map(len, at)), tuple((a, b) for a, b in ends))


@dataclass(frozen=True)
class Side:
    """The arcs above or below the words, with their levels and ports."""

    arcs: tuple[Arc, ...]
    levels: tuple[int, ...]
    ports: Ports

    @classmethod
    def of(cls, arcs: Sequence[Arc], words: int) -> Side:
        heights = levels(arcs)
        return cls(tuple(arcs), tuple(heights), ports(arcs, heights, words))

    @property
    def height(self) -> int:
        return max(self.levels, default=0)
