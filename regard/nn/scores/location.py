"""The location-aware score (Chorowski et al. 2015)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.letters import Letters
from regard.nn.scores.additive import Additive
from regard.nn.symbols import LookSymbols
from regard.parts import Count, register


@register("score", "location")
class Location(Additive):
    """v · tanh(U q + W h_s + V f_s), f = F * α: content, and the attention of the previous step.

    F are `filters` over the positions s − reach … s + reach. They tell a position whether the last look was
    on it, before it or after it, so that two occurrences of the same sound can be distinguished. Before the
    first step, all of α is on the first position.
    """

    class Options(Additive.Options):
        """v · tanh(U q + W h + V f), f = F * α of the previous step."""

        filters: Count = 10
        """Number of filters over the attention of the previous step."""
        reach: Count = 7
        """Number of positions on either side that a filter sees."""

    needs = frozenset({"previous"})

    def __init__(
        self,
        query_size: int,
        key_size: int,
        size: int | None = None,
        *,
        filters: int = 10,
        reach: int = 7,
        bias: bool = False,
    ) -> None:
        super().__init__(query_size, key_size, size, bias=bias)
        self.reach, width = reach, 2 * reach + 1
        bound = 1 / math.sqrt(width)
        self.filters = nn.Parameter(torch.empty(width, filters).uniform_(-bound, bound))
        self.place = nn.Linear(filters, self.size, bias=False)

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        mark, j, t, reach = look.mark, look.index, look.step, options.reach
        near, letter, ι = look.sub("f", t, j), look.letters[1] + look.prime, f"ι{look.prime}"
        content = cls.compared(options, look.query, look.key, mark)
        there = f"1 ≤ {j} + {ι} ≤ {look.memory.length}"
        return [
            f"{ι} = −{reach} … {reach}",
            f"{near} = Σ_{{{ι}: {there}}} {letter}_{{{t}−1,{j}+{ι}}} F_{mark}{ι}     — attention of the previous step",
            f"{look.energy} = v_{mark}·tanh({content} + V_{mark} {near})",
            f"{letter}_0{j} = [{j} = 1]",
        ]

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        own: Letters = {"filters": f"F_{look.mark}ι{look.prime}", "place.weight": f"V_{look.mark}"}
        return super().letters(options, look) | own

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        if previous is None:
            raise RegardError(
                "A location score needs the attention weights of the previous step.",
                fix="Use it in a decoder that attends step by step, or choose score additive.",
            )
        padded = nn.functional.pad(previous, (self.reach, self.reach))
        around = padded.unfold(-1, len(self.filters), 1)  # (B, T, S, 2 reach + 1)
        places = self.place(around @ self.filters)  # (B, T, S, A)
        return torch.tanh(self.query(query).unsqueeze(2) + keys.unsqueeze(1) + places) @ self.vector
