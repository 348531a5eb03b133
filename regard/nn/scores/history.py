"""The score that depends on all earlier attention (See et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.letters import Letters
from regard.nn.scores.additive import Additive
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("score", "history")
class History(Additive):
    """v · tanh(U q + W h_s + g r_s), r_ts = Σ_{υ<t} α_υs: content, and total earlier attention.

    See et al. call r the coverage vector. To keep a decoder from repeating itself, use it together with the
    penalty `repetition`.
    """

    class Options(Additive.Options):
        """v · tanh(U q + W h + g r), where r is the total attention of all previous steps to the position."""

    needs = frozenset({"previous"})
    of_totals = True

    def __init__(
        self, query_size: int, key_size: int, size: int | None = None, *, bias: bool = False
    ) -> None:
        super().__init__(query_size, key_size, size, bias=bias)
        bound = 1 / math.sqrt(self.size)
        self.before = nn.Parameter(torch.empty(self.size).uniform_(-bound, bound))

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        mark, total = look.mark, look.sub("r", look.step, look.index)
        content = cls.compared(options, look.query, look.key, mark)
        return [
            *cls.history(look),
            f"{look.energy} = v_{mark}·tanh({content} + g_{mark} {total})",
        ]

    @classmethod
    def history(cls, look: LookSymbols) -> list[str]:
        """Equations of r_tj, as a sum that grows from step to step."""
        t, j = look.step, look.index
        total, letter = look.sub("r", t, j), look.letters[1] + look.prime
        before = f"r{look.prime}_{{{t}−1,{j}}} + {letter}_{{{t}−1,{j}}}"
        return [
            f"{total} = {before}     for {t} > 1     — the total attention of all previous steps",
            f"r{look.prime}_1{j} = 0",
        ]

    def first(self, like: Tensor) -> Tensor:
        return torch.zeros_like(like)

    def remember(self, previous: Tensor, weights: Tensor) -> Tensor:
        return previous + weights

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        return super().letters(options, look) | {"before": f"g_{look.mark}"}

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        if previous is None:
            raise RegardError(
                "A history score needs the attention weights of all previous steps.",
                fix="Use it in a decoder that attends step by step, or choose score additive.",
            )
        seen = previous.unsqueeze(-1) * self.before  # (B, T, S, A)
        return torch.tanh(self.query(query).unsqueeze(2) + keys.unsqueeze(1) + seen) @ self.vector
