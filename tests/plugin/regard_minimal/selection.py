"""A softmax at a temperature."""

from __future__ import annotations

from typing import Any

from torch import Tensor

import regard
from regard.nn import Given, LookSymbols, masked_softmax
from regard.parts import Positive


@regard.register("selection", "tempered")
class Tempered(regard.nn.Selection):
    """exp(e_s / τ) / Σ exp(e_s' / τ): sharper than a softmax below τ = 1, flatter above."""

    class Options(regard.nn.Selection.Options):
        """A softmax at a temperature."""

        temperature: Positive = 1.0
        """τ."""

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = temperature

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        return [f"{look.weights} = softmax_{look.below}({look.energy} / {options.temperature:g})"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given | None = None) -> Tensor:
        mask = mask if mask.ndim == 3 else mask.unsqueeze(1)
        return masked_softmax(scores / self.temperature, mask)
