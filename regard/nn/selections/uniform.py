"""Equal weights for all positions: mean pooling."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.nn.selections.selection import NOTHING, Given, Selection, by_query
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("selection", "uniform")
class Uniform(Selection):
    """1/n for each of the n positions."""

    joint = "nothing"
    learns = False
    unguided = "its weights are constant"

    @classmethod
    def sums_to_one(cls, options: Any) -> bool:
        return True

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        share = f"{look.only}/ {look.memory.length}" if look.where else f"1 / {look.memory.length}"
        return [f"{look.weight} = {share}"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        mask = by_query(mask)
        weights = mask / mask.sum(-1, keepdim=True).clamp(min=1)
        return weights.to(scores.dtype).expand_as(scores)
