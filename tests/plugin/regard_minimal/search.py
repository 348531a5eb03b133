"""Greedy search that prefers to end."""

from __future__ import annotations

from typing import Any

from torch import Tensor

import regard
from regard.parts import NotNegative


@regard.register("search", "brief")
class BriefSearch(regard.nn.Search):
    several = False

    class Options(regard.nn.Search.Options):
        """The most probable token at every step, with a bonus for the end."""

        bonus: NotNegative = 0.5
        """Added to the logit of the end."""

    def __call__(self, stepper: regard.nn.Stepper) -> regard.nn.Hypotheses:
        def choose(logits: Tensor) -> Tensor:
            preferred = logits.clone()
            preferred[..., stepper.end] += self.options.bonus
            return preferred.argmax(-1)

        return self.write(stepper, choose)

    @classmethod
    def described(cls, options: Any) -> str:
        return f"brief search with a bonus of {options.bonus:g}"
