"""The true alignment: an upper bound on the benefit of attention."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.errors import RegardError
from regard.nn.selections.selection import NOTHING, Given, Selection, by_query, rows_at
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("selection", "oracle")
class Oracle(Selection):
    """The true alignment as weights. Output positions beyond the truth, such as the end of the sequence, have
    weights of zero."""

    needs = frozenset({"truth"})
    learns = False
    unguided = "its weights are the true alignment"

    @classmethod
    def sums_to_one(cls, options: Any) -> bool:
        return False

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        return [f"— {look.weight}: the true alignment"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        if given.truth is None:
            raise RegardError(
                "Oracle selection needs the true alignment, and none was given.",
                fix="Add an alignment column to the data, or choose another selection.",
            )
        return rows_at(given.truth, given.step, scores) * by_query(mask)
