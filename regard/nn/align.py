"""Inference between two texts by aligning them: attend, compare, aggregate (Parikh et al. 2016).

For memories a (B, S, D) and b (B, T, D):

    attend      e_ij = F a_i · F b_j / √size
                β_i  = Σ_j softmax_j(e_ij) b_j          what of b belongs to a_i
                α_j  = Σ_i softmax_i(e_ij) a_i          what of a belongs to b_j
    compare     v_i  = G([a_i; β_i]),   w_j = G([b_j; α_j])
                with `differences`  G([a_i; β_i; |a_i − β_i|; a_i ⊙ β_i]): whether two vectors are the same is then a
                matter of one layer, whatever the vectors (Mou 2016; Chen 2017)
    aggregate   y    = H([Σ_i v_i; Σ_j w_j])

F is a matrix, so that what is the same is aligned before anything is learned (Parikh's F is a network); G and H are
networks of two layers. All see the values times `gain`, so that their features are of about one. No word sees another
of its own text: what a position knows of its surroundings is what its encoder put there, nothing, or a soft parent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.memory import Memory
from regard.nn.selections import masked_softmax

Comparison = Literal["concatenation", "differences"]


@dataclass(frozen=True)
class Aligned:
    """Two memories beside each other.

    first     (B, S, T) softmax_j(e_ij): where each position of the first text looked in the second
    second    (B, T, S) softmax_i(e_ij): where each position of the second looked in the first
    """

    first: Tensor
    second: Tensor


def feed_forward(inputs: int, size: int, *, dropout: float) -> nn.Sequential:
    """relu(W₂ relu(W₁ x + b₁) + b₂), each layer's input dropped out."""
    return nn.Sequential(
        nn.Dropout(dropout),
        nn.Linear(inputs, size),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(size, size),
        nn.ReLU(),
    )


class Align(nn.Module):
    """Two memories of one width → features (B, 2·size) of how they stand to each other."""

    def __init__(
        self,
        value_size: int,
        *,
        size: int,
        dropout: float = 0.0,
        compare: Comparison = "differences",
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        if compare not in ("concatenation", "differences"):
            raise RegardError(
                f"There is no comparison {compare!r}.", fix="Choose concatenation or differences."
            )
        self.differences = compare == "differences"
        self.gain = gain
        self.attention = nn.Sequential(nn.Dropout(dropout), nn.Linear(value_size, size, bias=False))
        self.temperature = size**-0.5
        self.comparison = feed_forward((4 if self.differences else 2) * value_size, size, dropout=dropout)

    def attend(self, first: Memory, second: Memory) -> Aligned:
        projected = self.attention(second.values).transpose(1, 2)
        energies = self.temperature * self.attention(first.values) @ projected  # (B, S, T)
        return Aligned(
            masked_softmax(energies, second.mask.unsqueeze(1)),
            masked_softmax(energies.transpose(1, 2), first.mask.unsqueeze(1)),
        )

    def compare(self, values: Tensor, aligned: Tensor) -> Tensor:
        """(B, S, D) and what belongs to it, (B, S, D) → (B, S, size)"""
        parts = [values, aligned]
        if self.differences:
            parts += [(values - aligned).abs(), values * aligned]
        compared: Tensor = self.comparison(torch.cat(parts, -1))
        return compared

    @staticmethod
    def aggregate(compared: Tensor, mask: Tensor) -> Tensor:
        """(B, S, size) → (B, size), the sum over the positions that exist."""
        return (compared * mask.unsqueeze(-1)).sum(1)

    def forward(self, first: Memory, second: Memory) -> tuple[Tensor, Aligned]:
        first, second = (replace(memory, values=memory.values * self.gain) for memory in (first, second))
        aligned = self.attend(first, second)
        left = self.compare(first.values, aligned.first @ second.values)
        right = self.compare(second.values, aligned.second @ first.values)
        features = [self.aggregate(left, first.mask), self.aggregate(right, second.mask)]
        return torch.cat(features, -1), aligned
