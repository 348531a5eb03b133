"""Combining: one hidden layer over several vectors, which are put side by side or multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

Combine = Literal["beside", "product"]


class Beside(nn.Module):
    """relu(W [s_1; …; s_n] + c)"""

    def __init__(self, sizes: Sequence[int], size: int) -> None:
        super().__init__()
        self.layer = nn.Linear(sum(sizes), size)

    def forward(self, parts: Sequence[Tensor]) -> Tensor:
        return nn.functional.relu(self.layer(torch.cat(list(parts), -1)))


class Product(nn.Module):
    """Π_i tanh(W_i s_i + c_i)"""

    def __init__(self, sizes: Sequence[int], size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(one, size) for one in sizes)

    def forward(self, parts: Sequence[Tensor]) -> Tensor:
        first, *others = (torch.tanh(layer(part)) for layer, part in zip(self.layers, parts, strict=True))
        for other in others:
            first = first * other
        return first
