"""A tour: every position once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from regard.nn.forms.form import FormState, with_stop
from regard.nn.memory import Memory


@dataclass(frozen=True)
class TourState(FormState):
    """left   (B, K, S) the positions that are not yet visited"""

    left: Tensor

    @classmethod
    def begin(cls, memory: Memory) -> Self:
        return cls(memory.mask.unsqueeze(1))

    def advance(self, tokens: Tensor) -> Self:
        numbers = torch.arange(1, self.left.shape[-1] + 1, device=tokens.device)
        return replace(self, left=self.left & (numbers != tokens.unsqueeze(-1)))

    def allowed(self) -> Tensor:
        return with_stop(self.left, ~self.left.any(-1))
