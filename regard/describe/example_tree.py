"""The small tree over which a recursive network is unrolled: children are numbered before their parents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BALANCED = (((), ()), ((), ()))
CHAIN = ((((), ()), ()), ())


@dataclass(frozen=True)
class ExampleTree:
    """A binary tree.

    children   of each inner node
    columns    the place of each node from left to right, between its children
    heights    how far each node is above its leaves: 0 for a leaf
    """

    children: dict[str, tuple[str, str]] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    heights: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, shape: Any) -> ExampleTree:
        """The tree of a shape: () is a leaf, a pair of shapes an inner node."""
        made = cls()
        made._add(shape, 0)
        return made

    @property
    def nodes(self) -> list[str]:
        return sorted(self.heights, key=int)

    @property
    def leaves(self) -> list[str]:
        return [node for node in self.nodes if node not in self.children]

    @property
    def levels(self) -> int:
        return max(self.heights.values()) + 1

    def _add(self, shape: Any, column: int) -> tuple[str, int]:
        """Number a subtree whose leftmost leaf is at `column`; its root, and the first column after it."""
        if not shape:
            node = str(len(self.heights) + 1)
            self.heights[node], self.columns[node] = 0, column
            return node, column + 1
        left, middle = self._add(shape[0], column)
        right, after = self._add(shape[1], middle + 1)
        node = str(len(self.heights) + 1)
        self.children[node] = (left, right)
        self.heights[node] = 1 + max(self.heights[left], self.heights[right])
        self.columns[node] = middle
        return node, after
