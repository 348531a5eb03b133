# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Location features of the previous attention weights α: f_s = Σ_r α_{s+r−reach} F_r, and V f_s.

F are R = 2 reach + 1 filters of J features. V (A, J) maps them to the feature space of queries and keys.
Before the first step all of α is on the first position.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.layout import LocationPanels
from regard.fast.cpu.product import Target, Window, multiply
from regard.structures.kernels.cpu.compilation import part, reduction
from regard.structures.kernels.cpu.rows import add, dot

Array = Any


class Nearby(NamedTuple):
    """Scratch: f (S, J), its gradient, and k + V f (S, A); empty for scores without location."""

    around: Array
    d_around: Array
    near: Array


@part
def nearby_for(location: LocationPanels, positions: int, features: int, zero: Any) -> Nearby:
    wide = location.filters.shape[1]
    around, d_around = np.full((positions, wide), zero), np.full((positions, wide), zero)
    return Nearby(around, d_around, np.full((positions, features if wide > 0 else 0), zero))


@part
def _weight_at(looks: Array, before: int, s: int, positions: int) -> Any:
    """α_s of the previous step; 0 outside."""
    if s < 0 or s >= positions:
        return looks.dtype.type(0)
    if before >= 0:
        return looks[before, s]
    return looks.dtype.type(1) if s == 0 else looks.dtype.type(0)


@part
def look_near(location: LocationPanels, looks: Array, before: int, keys: Array, nearby: Nearby) -> None:
    """Fill `around` and `near`."""
    positions, filters = len(keys), location.filters
    reach = len(filters) // 2
    nearby.around[:] = 0
    for s in range(positions):
        # also for positions outside, so that a NaN in a filter is not hidden
        for r in range(len(filters)):
            add(nearby.around[s], _weight_at(looks, before, s + r - reach, positions), filters[r])
    multiply(positions, Window(nearby.around, 0, 1, 0), location.place, Target(nearby.near, 0, 1, 0, False))
    for s in range(positions):
        add(nearby.near[s], keys.dtype.type(1), keys[s])


@part
def gather_near(
    location: LocationPanels, looks: Array, before: int, places: Array, count: int, nearby: Nearby,
    d_filters: Array, d_place: Array, d_look: Array,
) -> None:  # fmt: skip
    """`near` holds the gradient of V f_s at the unmasked positions. Adds to d_filters (R, J) and to d_place
    (J, A), the gradient of Vᵀ; writes d_look (S), the gradient of the previous weights."""
    positions, filters = len(d_look), location.filters
    reach = len(filters) // 2
    multiply(positions, Window(nearby.near, 0, 1, 0), location.back, Target(nearby.d_around, 0, 1, 0, False))
    d_look[:] = 0
    for j in range(count):
        s = places[j]
        _outer(nearby.around[s], nearby.near[s], d_place)
        received = nearby.d_around[s]
        for r in range(len(filters)):
            other = s + r - reach
            add(d_filters[r], _weight_at(looks, before, other, positions), received)
            if 0 <= other < positions:
                d_look[other] += dot(filters[r], received)


@reduction
def _outer(around: Array, near: Array, d_place: Array) -> None:
    for f in range(len(around)):
        add(d_place[f], around[f], near)
