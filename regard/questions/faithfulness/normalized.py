"""Normalized AOPC: where an order lies between the worst and the best one (Edin et al. 2025).

    AOPC(o) = mean over k = 1 … S−1 of p(y_t | x) − p(y_t | x without the first k of o)
    NAOPC(o) = (AOPC(o) − min_o' AOPC(o')) / (max_o' AOPC(o') − min_o' AOPC(o'))

Models differ in how much any removal costs, so that plain AOPC cannot compare them; NAOPC is between 0 and 1 for
each model. The best and the worst order of up to `EXACT` positions are exact: AOPC is a sum over nested sets, so a
longest path through the 2^S sets finds them. Longer inputs are searched with a beam, whose bounds are inner ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regard.data.ragged import Array
from regard.questions.faithfulness.ranking import without_top
from regard.questions.faithfulness.removal import Removal
from regard.questions.faithfulness.rows import Looked

EXACT = 8
"""Most positions whose 2^S sets are all computed."""
WIDTH = 3
"""Orders that a beam keeps."""


def all_sets(positions: int) -> Iterator[Array]:
    """Every nonempty proper subset, as kept positions."""
    for number in range(1, 2**positions - 1):
        yield _set(number, positions)


def prefix_sets(order: Array) -> Iterator[Array]:
    """What is kept after each removal of an order, except the last."""
    for count in range(1, len(order)):
        yield without_top(order, count)


def steady_aopc(removal: Removal, one: Looked, order: Array) -> Array:
    """(T,) AOPC over every k, for one order."""
    lost = [np.exp(one.scores) - np.exp(removal[one, kept]) for kept in prefix_sets(order)]
    return np.asarray(np.mean(lost, axis=0))


def exact_bounds(removal: Removal, one: Looked) -> tuple[Array, Array]:
    """(T,) least and largest AOPC of all S! orders, by the longest path through the sets of kept positions."""
    positions, steps = one.positions, one.steps
    lowest = np.zeros((2**positions, steps))
    highest = np.zeros((2**positions, steps))
    full = 2**positions - 1
    for number in range(full - 1, 0, -1):  # removals lead to smaller numbers, so every larger set is known
        lost = np.exp(one.scores) - np.exp(removal[one, _set(number, positions)])
        before = [number | 1 << place for place in range(positions) if not number >> place & 1]
        lowest[number] = lost + lowest[before].min(0)
        highest[number] = lost + highest[before].max(0)
    single = [1 << place for place in range(positions)]
    count = positions - 1
    return lowest[single].min(0) / count, highest[single].max(0) / count


def beam_bounds(removal: Removal, one: Looked, width: int = WIDTH) -> tuple[Array, Array]:
    """(T,) bounds from the best orders that a beam finds; inner ones: the true range is at least as wide."""
    found = [_beam(removal, one, width, sign) for sign in (-1.0, 1.0)]
    return -found[0], found[1]


def _beam(removal: Removal, one: Looked, width: int, sign: float) -> Array:
    """(T,) the largest sign · AOPC; all steps are searched together, so that they share forward passes."""
    positions = one.positions
    beams: list[list[tuple[float, int]]] = [[(0.0, 2**positions - 1)] for _ in range(one.steps)]
    for _ in range(positions - 1):
        grown = [
            {
                number & ~(1 << place)
                for _, number in beam
                for place in range(positions)
                if number >> place & 1
            }
            for beam in beams
        ]
        removal.need((one, _set(number, positions)) for number in set().union(*grown))
        for step, beam in enumerate(beams):
            best: dict[int, float] = {}
            for total, number in beam:
                for place in range(positions):
                    if number >> place & 1:
                        after = number & ~(1 << place)
                        left = removal[one, _set(after, positions)][step]
                        value = total + sign * (np.exp(one.scores[step]) - np.exp(left))
                        best[after] = max(best.get(after, -np.inf), float(value))
            beams[step] = sorted(((value, after) for after, value in best.items()), reverse=True)[:width]
    return np.array([beam[0][0] for beam in beams]) / (positions - 1)


def normalized(aopc: Array, lowest: Array, highest: Array) -> Array:
    """(T,) between 0 and 1; NaN where every order costs the same."""
    lowest, highest = np.minimum(lowest, aopc), np.maximum(highest, aopc)  # a beam may have missed them
    span = highest - lowest
    return np.where(span > 1e-9, (aopc - lowest) / np.where(span > 1e-9, span, 1.0), np.nan)


def _set(number: int, positions: int) -> Array:
    return (number >> np.arange(positions) & 1).astype(bool)
