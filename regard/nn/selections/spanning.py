"""One head for each word; all heads form a tree, whose arcs may cross."""

from __future__ import annotations

from typing import Any

from regard.nn.selections.projective import Projective, tree_equations
from regard.nn.symbols import LookSymbols
from regard.parts import register
from regard.structures import SpanningTree


@register("selection", "spanning")
class Spanning(Projective):
    """p(head of t is s) under p(tree) ∝ exp Σ_t e[t, head(t)], over all trees: the matrix-tree theorem."""

    class Options(Projective.Options):
        """One head for each word, in a tree whose arcs may cross: the matrix-tree theorem."""

    trees = SpanningTree

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        return tree_equations("spanning", "by the matrix-tree theorem", look, options.estimate)
