"""One hidden layer over several vectors and a query, either concatenated or gated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

Combine = Literal["beside", "gated"]
HiddenActivation = Literal["relu", "tanh"]


class Beside(nn.Module):
    """f(W [s_1; …; s_n; q] + c), where f is relu or tanh"""

    def __init__(
        self, sizes: Sequence[int], asking: int, size: int, activation: HiddenActivation = "relu"
    ) -> None:
        super().__init__()
        self.layer = nn.Linear(sum(sizes) + asking, size)
        self.size, self.activation = size, activation

    def forward(self, parts: Sequence[Tensor], asking: Tensor) -> Tensor:
        summed = self.layer(torch.cat([*parts, asking], -1))
        return nn.functional.relu(summed) if self.activation == "relu" else torch.tanh(summed)


class Gated(nn.Module):
    """[tanh(W_1 s_1 + c_1) ⊙ tanh(U_1 q + d_1); …; tanh(W_n s_n + c_n) ⊙ tanh(U_n q + d_n)]

    The query decides for each part which features count and with which sign. A sum of the two cannot do that.
    """

    def __init__(self, sizes: Sequence[int], asking: int, size: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(one, size) for one in sizes)
        self.gates = nn.Linear(asking, size * len(sizes))
        self.size = size * len(sizes)

    def forward(self, parts: Sequence[Tensor], asking: Tensor) -> Tensor:
        seen = [layer(part) for layer, part in zip(self.parts, parts, strict=True)]
        return torch.tanh(torch.cat(seen, -1)) * torch.tanh(self.gates(asking))
