"""One position: a softmax over the scores."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.nn.selections.selection import NOTHING, Given, Selection, by_query, masked_softmax
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("selection", "softmax")
class Softmax(Selection):
    """exp e_s / Σ exp e_s' over the real positions."""

    of_words = True

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        return [f"{look.weights} = softmax_{look.below}({look.energy})"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        return masked_softmax(scores, by_query(mask))
