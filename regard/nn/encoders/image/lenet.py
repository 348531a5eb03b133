"""LeNet-5 (LeCun, Bottou, Bengio, Haffner 1998), layer by layer as published."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.encoders.image.network import Canvas, ImageNetwork, map_at, whole_grid
from regard.nn.letters import Letters, linear
from regard.parts import register

SEEN = (
    *((i, (i + 1) % 6, (i + 2) % 6) for i in range(6)),
    *((i, (i + 1) % 6, (i + 2) % 6, (i + 3) % 6) for i in range(6)),
    *((i, (i + 1) % 6, (i + 3) % 6, (i + 4) % 6) for i in range(3)),
    tuple(range(6)),
)
"""Table I: the maps of S2 (of 6) that each of the 16 maps of C3 is connected to."""


class Squash(nn.Module):
    """1.7159 tanh(⅔ a), which is ±1 at ±1."""

    def forward(self, activations: Tensor) -> Tensor:
        return 1.7159 * torch.tanh(activations * (2 / 3))


class Subsampling(nn.Module):
    """squash(w · mean of 2 × 2 + b), with one w and one b for each map."""

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(maps))
        self.bias = nn.Parameter(torch.zeros(maps))
        self.squash = Squash()

    def forward(self, maps: Tensor) -> Tensor:
        pooled = nn.functional.avg_pool2d(maps, 2)
        scaled: Tensor = self.squash(pooled * self.weight[:, None, None] + self.bias[:, None, None])
        return scaled


class Partial(nn.Module):
    """A convolution of 5 × 5 in which each map is connected to some of the maps below, as in `SEEN`."""

    seen: Tensor

    def __init__(self, below: int = 6) -> None:
        super().__init__()
        seen = torch.tensor([[map_below in maps for map_below in range(below)] for maps in SEEN])
        self.register_buffer("seen", seen, persistent=False)
        # kernels of existing connections only, so that missing ones are neither trained nor counted
        self.kernels = nn.Parameter(torch.empty(sum(map(len, SEEN)), 5, 5))
        self.bias = nn.Parameter(torch.zeros(len(SEEN)))

    def forward(self, maps: Tensor) -> Tensor:
        weight = self.kernels.new_zeros(*self.seen.shape, 5, 5)
        weight[self.seen] = self.kernels
        return nn.functional.conv2d(maps, weight, self.bias)


@register("network", "lenet")
class LeNet(ImageNetwork):
    """C1 6 maps of 5 × 5, S2, C3 16 maps of 5 × 5, S4, C5 120 units, F6 84 units.

    With gray images of 32 × 32 pixels, S4 is a grid of 5 × 5 positions with 16 features, and C5 is connected
    to all of it. The summary is F6. White is −0.1 and black is 1.175. Differences: the published output
    layer, Euclidean distances to drawn digits, is left to the decoder, which uses a softmax; the
    initialization preserves variance (Glorot 2010).
    """

    channels = 16
    summary_size = 84
    mean = (1.175 / 1.275,)
    std = (-1 / 1.275,)
    smallest = 16

    @classmethod
    def board(cls, options: Any, seen: str, at: str, summary: str) -> list[str]:
        one, two, three, grid, five = (
            map_at(*of, at) for of in (("m", "1"), ("m", "2"), ("m", "3"), ("G",), ("m", "5"))
        )
        return [
            f"{one} = squash(F_1 ⋆ {seen} + b_1)     — C1: 6 maps, F_1 of 5 × 5",
            f"{two} = squash(g_2 ⊙ meanpool({one}) + b_2)     — S2",
            f"{three} = squash(F_3 ⋆ {two} + b_3)     — C3: 16 maps, F_3 of 5 × 5, 0 where Table I connects no maps",
            f"{grid} = squash(g_4 ⊙ meanpool({three}) + b_4)     — S4, the grid",
            f"{five} = squash(W_5 {whole_grid(at)} + b_5)     — C5: 120 units",
            f"{summary} = squash(W_6 {five} + b_6)     — F6: 84 units, the summary",
            "squash(a) = 1.7159 tanh(2a / 3)",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        maps = linear("c1", "F_1", "b_1") | {"c3.kernels": "F_3", "c3.bias": "b_3"}
        pooled = linear("s2", "g_2", "b_2") | linear("s4", "g_4", "b_4")
        return maps | pooled | linear("c5", "W_5", "b_5") | linear("f6", "W_6", "b_6")

    @classmethod
    def pixel_line(cls, options: Any, at: str) -> str:
        below = f"_{at}" if at else ""
        return f"x{below} = 1.175 − 1.275 X{below} / 255     — X{below}: the pixels; white −0.1, black 1.175"

    @classmethod
    def width(cls, options: Any) -> int | None:
        return cls.channels

    def __init__(self, canvas: Canvas) -> None:
        super().__init__()
        colors, height, width = canvas
        self.grid = (_side(height), _side(width))
        if min(self.grid) < 1:
            raise RegardError(
                f"LeNet-5 needs images of at least 16 × 16 pixels; received {height} × {width}.",
                fix="Use a larger image; 32 × 32 is the published size.",
            )
        self.c1 = nn.Conv2d(colors, 6, 5)
        self.s2 = Subsampling(6)
        self.c3 = Partial()
        self.s4 = Subsampling(16)
        self.c5 = nn.Linear(16 * self.grid[0] * self.grid[1], 120)
        self.f6 = nn.Linear(120, 84)
        self.squash = Squash()
        self._start()

    def _start(self) -> None:
        layers: tuple[nn.Conv2d | nn.Linear, ...] = (self.c1, self.c5, self.f6)
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight, gain=5 / 3)
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
        seen = torch.tensor([float(len(maps)) for maps in SEEN for _ in maps])  # maps seen by each unit
        with torch.no_grad():
            self.c3.kernels.uniform_(-1, 1).mul_(torch.rsqrt(seen[:, None, None] * 25 / 3) * 5 / 3)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        below = self.s2(self.squash(self.c1(pixels)))
        features = self.s4(self.squash(self.c3(below)))
        summary = self.squash(self.f6(self.squash(self.c5(features.flatten(1)))))
        return features, summary


def _side(pixels: int) -> int:
    """The side after two convolutions of width 5 and two halvings."""
    return ((pixels - 4) // 2 - 4) // 2
