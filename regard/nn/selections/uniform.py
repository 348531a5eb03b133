"""Nothing to choose: mean pooling."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.nn.selections.selection import NOTHING, Given, Selection, by_query
from regard.parts import register


@register("selection", "uniform")
class Uniform(Selection):
    """1/n for each of the n positions."""

    joint = "nothing"
    learns = False
    unguided = "a uniform selection has nothing to learn"

    @classmethod
    def equation(cls, options: Any, query: str) -> str:
        return "α_tj = 1/S"

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        mask = by_query(mask)
        weights = mask / mask.sum(-1, keepdim=True).clamp(min=1)
        return weights.to(scores.dtype).expand_as(scores)
