"""One head for each word, all heads one tree."""

from __future__ import annotations

from typing import Any

from regard.nn.selections.projective import Projective
from regard.parts import register
from regard.structures import SpanningTree


@register("selection", "spanning")
class Spanning(Projective):
    """p(head of t is s) under p(tree) ∝ exp Σ_t e[t, head(t)], over all trees: the matrix-tree theorem."""

    trees = SpanningTree

    @classmethod
    def equation(cls, options: Any, query: str) -> str:
        return "p(r → j) = E[head(j) = r], p(tree) ∝ exp Σ_j s_head(j),j over all trees (matrix-tree)"
