"""The heads of the tree in the data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.selections.selection import NOTHING, Given, Selection, by_query
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("selection", "given")
class GivenHeads(Selection):
    """One at the head that the tree gives, zero elsewhere; position 0 is the root symbol."""

    needs = frozenset({"words", "heads"})
    learns = False
    unguided = "the heads come from the data"

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        head = look.sub("τ", look.step)
        given = f"{head}: the head of {look.step} in the tree that comes with the data"
        return [f"{look.weight} = [{look.index} = {head}]     — {given}"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        if given.heads is None:
            raise RegardError(
                "select: given needs a tree from the data, and none was given.",
                fix="Add a tree column of this input, or choose select: projective.",
            )
        positions = torch.arange(scores.shape[2], device=scores.device)
        return ((given.heads.unsqueeze(-1) == positions) & by_query(mask)).to(scores.dtype)
