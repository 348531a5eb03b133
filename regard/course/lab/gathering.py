"""Gathering: four symbols in an image, of which a fovea sees one at a time; how many are crosses?

    x_t = the 3 × 3 cells around place t              the fovea; its places are where the blurred image is bright
    h_t = gru(h_{t−1}, x_t),   p(y) = softmax(V h_t + b)        the answer after t glimpses

A plus and a cross have as many bright cells, so that the blurred image shows where a symbol is and not which. Who has
seen k of the four, each a cross with probability ½, can do no better than max_c C(4 − k, c) / 2^{4 − k}: 3/8 after
one glimpse, as without any, ½ after two and three, and 1 after four.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.nn.cells import make_cell
from regard.trace import Array
from regard.trace.structure import Places

SIDE, SYMBOLS = 3, 4
"""Regions along each side of an image, each of 3 × 3 cells; symbols in an image."""
KINDS = np.array([[[0, 1, 0], [1, 1, 1], [0, 1, 0]], [[1, 0, 1], [0, 1, 0], [1, 0, 1]]], float)
"""A plus and a cross."""
NOISE, UNITS, BATCH, TESTED = 0.05, 16, 64, 1000
"""Standard deviation of a cell; units of the state; images of an update; new images."""


@dataclass(frozen=True, eq=False)
class SymbolScenes:
    """images (B, 9, 9), and the number of crosses in each, (B)."""

    images: Array
    crosses: Places


@dataclass(frozen=True, eq=False)
class Gathered:
    """Shares of right answers on new images.

    kept     after 1 … 4 glimpses, by a state that is kept
    reset    after four, with the state set to zero before each
    blurred  after four of a fovea that sees the mean of its nine cells
    """

    kept: tuple[float, ...]
    reset: float
    blurred: float


class PatchReader(nn.Module):
    """h_t = gru(h_{t−1}, x_t), softmax(V h_t + b); with `reset`, h_{t−1} is zero."""

    def __init__(self, *, reset: bool = False) -> None:
        super().__init__()
        self.cell, self.answer, self.reset = make_cell("gru", 9, UNITS), nn.Linear(UNITS, SYMBOLS + 1), reset

    def forward(self, patches: Tensor) -> Tensor:
        """(B, T, 9) → the scores after each glimpse, (B, T, counts)."""
        state, found = patches.new_zeros(len(patches), UNITS), []
        for patch in patches.unbind(1):
            state = self.cell(patch, torch.zeros_like(state) if self.reset else state)
            found.append(self.answer(state))
        return torch.stack(found, 1)


def symbol_scenes(count: int, generator: np.random.Generator) -> SymbolScenes:
    """Images with four symbols in four of the nine regions."""
    regions = generator.permuted(np.tile(np.arange(SIDE**2), (count, 1)), axis=1)[:, :SYMBOLS]
    kinds = generator.integers(0, 2, (count, SYMBOLS))
    parts = np.zeros((count, SIDE**2, 3, 3))
    parts[np.arange(count)[:, None], regions] = KINDS[kinds]
    images = (
        parts.reshape(count, SIDE, SIDE, 3, 3).transpose(0, 1, 3, 2, 4).reshape(count, 3 * SIDE, 3 * SIDE)
    )
    return SymbolScenes(images + NOISE * generator.standard_normal(images.shape), kinds.sum(1))


def glimpsed(images: Array) -> Array:
    """(B, 4, 9): what the fovea sees, region after region, from the brightest of the blurred image on."""
    count = len(images)
    parts = images.reshape(count, SIDE, 3, SIDE, 3).transpose(0, 1, 3, 2, 4).reshape(count, SIDE**2, 9)
    order = np.argsort(-parts.mean(-1), axis=1)[:, :SYMBOLS]
    return np.asarray(parts[np.arange(count)[:, None], order])


def gathered(updates: int, seed: int) -> Gathered:
    """Train a reader with its state, one without, and one that sees blurred, and count right answers."""
    kept, reset, blurred = (
        _accuracies(updates, seed, **how) for how in ({}, {"reset": True}, {"blurred": True})
    )
    return Gathered(tuple(kept), reset[-1], blurred[-1])


def _accuracies(updates: int, seed: int, *, reset: bool = False, blurred: bool = False) -> list[float]:
    """The share of right answers after each glimpse."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    reader = PatchReader(reset=reset)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.02)

    def scores(scenes: SymbolScenes) -> tuple[Tensor, Tensor]:
        seen: Any = glimpsed(scenes.images)
        seen = np.broadcast_to(seen.mean(-1, keepdims=True), seen.shape) if blurred else seen
        right = torch.from_numpy(scenes.crosses)[:, None].expand(-1, SYMBOLS)
        return reader(torch.tensor(seen, dtype=torch.float32)), right

    for _ in range(updates):
        found, right = scores(symbol_scenes(BATCH, generator))
        optimizer.zero_grad()
        nn.functional.cross_entropy(found.flatten(0, 1), right.flatten()).backward()
        optimizer.step()
    with torch.no_grad():
        found, right = scores(symbol_scenes(TESTED, np.random.default_rng(seed + 1)))
    return [float(one) for one in (found.argmax(-1) == right).double().mean(0)]
