"""Selections of any number of positions, whose context does not grow with that number."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from regard.errors import RegardError
from regard.nn.selections.rescaling import rescale
from regard.nn.selections.selection import Selection
from regard.nn.symbols import LookSymbols
from regard.parts import NotNegative
from regard.parts.definition import remember


@remember
class Rescaled(Selection):
    """The weights are rescaled to a given sum (Kim 2017):

        c = Σ_s p_s x_s / γ,  γ = (1/λ) Σ_s p_s

    normalize   λ, the sum of the rescaled weights; 0: no rescaling
    """

    renormalized = False

    class Options(Selection.Options):
        """The context is λ Σ p x / Σ p."""

        normalize: NotNegative = 2.0
        """λ, the sum to which the weights are rescaled: the context is λ Σ p x / Σ p;
        0: no rescaling, Σ p x."""

    def __init__(self, *, normalize: float = 2.0) -> None:
        super().__init__()
        if not 0 <= normalize < math.inf:
            raise RegardError(f"normalize must be at least 0 (0: off); received {normalize}.")
        self.normalize = normalize

    @classmethod
    def sums_to_one(cls, options: Any) -> bool:
        return False

    @classmethod
    def read_equations(cls, options: Any, look: LookSymbols) -> list[str]:
        read, total = super().read_equations(options, look), look.sub("γ", look.step)
        if not options.normalize:
            return read
        return [f"{read[0]} / {total}", f"{total} = Σ_{look.index} {look.weight} / {options.normalize:g}"]

    def reading(self, weights: Tensor) -> Tensor:
        return rescale(weights, self.normalize) if self.normalize else weights
