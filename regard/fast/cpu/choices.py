# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""From the energies of one query to the weights of its positions, and back: sigmoid and segments.

    sigmoid    p_s = σ(e_s)        segments   p_s = p(z_s = 1), a chain of two labels (see `segments`)

A masked position has energy −inf and weight 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.fast.cpu.layout import SEGMENTS, Choice
from regard.structures.kernels.cpu.compilation import part
from regard.structures.kernels.cpu.mathematics import larger, logistic
from regard.structures.kernels.cpu.segments import RoomBack, SegmentRoom, change_of, inside_of

Array = Any
SMALLEST = 1e-20  # as in `regard.nn.rescaling`


@part
def extent_of(exists: Array) -> int:
    """Index of the last unmasked position, plus 1."""
    for s in range(len(exists) - 1, -1, -1):
        if exists[s]:
            return s + 1
    return 0


@part
def choose(
    energies: Array,
    exists: Array,
    choice: Choice,
    room: SegmentRoom,
    pairs: Array,
    weights: Array,
    place: int,
) -> float:
    """Energies (1, S) → weights[place] (S), 0 at masked positions, and for segments the pair marginals into
    pairs[place]. The energies of masked positions are overwritten. Returns the factor by which a reading
    scales the weights.
    """
    positions = len(exists)
    for s in range(positions):
        if not exists[s]:
            energies[0, s] = -np.inf
    if choice.kind != SEGMENTS:
        for s in range(positions):
            weights[place, s] = logistic(energies[0, s]) if exists[s] else 0.0
    elif positions > 0:
        inside_of(
            energies, choice.between, 0, extent_of(exists), room.init, room.edges, room.best, room.prefixes,
            room.sums, pairs, weights, place,
        )  # fmt: skip
    total = 0.0
    for s in range(positions):
        total += weights[place, s]
    return factor_of(total, choice.normalize)


@part
def factor_of(total: float, normalize: float) -> float:
    return 1.0 if normalize == 0 else normalize / larger(total, SMALLEST)


@part
def choose_back(
    exists: Array, choice: Choice, weights: Array, pairs: Array, place: int, d_weights: Array, room: RoomBack,
    d_energies: Array, d_between: Array, row: int,
) -> None:  # fmt: skip
    """d_energies (1, S) from the gradient d_weights (1, S) of weights[place]; adds to d_between[row] (4)."""
    positions = len(exists)
    if choice.kind != SEGMENTS:
        for s in range(positions):
            weight = weights[place, s]
            d_energies[0, s] = d_weights[0, s] * weight * (1 - weight)
    elif positions > 0:
        change_of(
            d_weights, 0, weights, pairs, place, extent_of(exists), room.states, room.gains, room.moved,
            room.change, room.before, room.mean, d_energies, d_between, row,
        )  # fmt: skip
