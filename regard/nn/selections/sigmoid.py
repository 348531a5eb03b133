"""Any subset of the positions, each chosen independently."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.selections.rescaled import Rescaled
from regard.nn.selections.selection import NOTHING, Given, by_query
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("selection", "sigmoid")
class Sigmoid(Rescaled):
    """σ(e_s) for each position; the context is rescaled as in `Rescaled`."""

    joint = "nothing"
    unguided = "independent weights minimize the guided-attention loss by selecting every position"

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        return [f"{look.weight} = {look.only}σ({look.energy})"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        return torch.sigmoid(scores) * by_query(mask)
