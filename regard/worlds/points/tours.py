"""Short tours through points in the plane: exact for few points (Held and Karp), else by local search.

The local search builds a tour from each point in turn by always going to the nearest remaining point. It then
exchanges two edges (2-opt) or moves up to three neighbors (or-opt) as long as this shortens the tour. The
result is the shortest of these tours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.parallel import over_batch
from regard.structures.kernels.cpu.rows import copy

FEW = 12
"""Largest number of points with an exact tour, which takes 2^(n − 1) n² steps."""
LEAST = 1e-12
"""Minimum gain of a change, so that rounding errors cannot cause an infinite loop."""


def tours(points: np.ndarray) -> np.ndarray:
    """(B, n, 2) float64 → (B, n) int64, the 0-based indices of the points in the order of a short tour."""
    batch, count = points.shape[:2]
    found = np.zeros((batch, count), dtype=np.int64)
    found[:] = np.arange(count)
    if count > 3:
        exact = count <= FEW
        work = 2 ** (count - 1) * count**2 if exact else 10 * count**3
        over_batch(_shortest if exact else _short, batch, work, np.ascontiguousarray(points), found)
    return found


@part
def _distances(points: Any, table: Any) -> None:
    for i in range(len(points)):
        for j in range(len(points)):
            x, y = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
            table[i, j] = np.sqrt(x * x + y * y)


@kernel
def _shortest(points: Any, found: Any, first: int, last: int) -> None:
    """costs[s, j]: length of the shortest path from the last point through the set s to its member j."""
    count = points.shape[1] - 1
    table = np.empty((count + 1, count + 1))
    costs, before = np.empty((1 << count, count)), np.empty((1 << count, count), dtype=np.int64)
    for row in range(first, last):
        _distances(points[row], table)
        for chosen in range(1, 1 << count):
            for j in range(count):
                if not chosen >> j & 1:
                    continue
                rest = chosen ^ (1 << j)
                if rest == 0:
                    costs[chosen, j] = table[count, j]
                    continue
                best, origin = np.inf, 0
                for k in range(count):
                    if rest >> k & 1:
                        cost = costs[rest, k] + table[k, j]
                        if cost < best:
                            best, origin = cost, k
                costs[chosen, j], before[chosen, j] = best, origin
        chosen, best, at = (1 << count) - 1, np.inf, 0
        for j in range(count):
            cost = costs[chosen, j] + table[j, count]
            if cost < best:
                best, at = cost, j
        found[row, count] = count
        for place in range(count - 1, -1, -1):
            found[row, place] = at
            origin = before[chosen, at]
            chosen ^= 1 << at
            at = origin


@kernel
def _short(points: Any, found: Any, first: int, last: int) -> None:
    count = points.shape[1]
    table, tour = np.empty((count, count)), np.empty(count, dtype=np.int64)
    spare, left = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.bool_)
    for row in range(first, last):
        _distances(points[row], table)
        best = np.inf
        for start in range(count):
            _nearest(table, start, tour, left)
            while _exchanged(table, tour) or _moved(table, tour, spare):
                pass
            length = 0.0
            for place in range(count):
                length += table[tour[place], tour[(place + 1) % count]]
            if length < best - LEAST:
                best = length
                copy(tour, found[row])


@part
def _nearest(table: Any, start: int, tour: Any, left: Any) -> None:
    left[:] = True
    tour[0], left[start] = start, False
    for place in range(1, len(tour)):
        best, at = np.inf, 0
        for other in range(len(tour)):
            if left[other] and table[tour[place - 1], other] < best:
                best, at = table[tour[place - 1], other], other
        tour[place], left[at] = at, False


@part
def _exchanged(table: Any, tour: Any) -> bool:
    """Exchange two edges by reversing the points between them; returns whether the tour changed."""
    count, any_change = len(tour), False
    for i in range(count - 1):
        for j in range(i + 2, count):
            a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % count]
            if a != d and table[a, c] + table[b, d] < table[a, b] + table[c, d] - LEAST:
                low, high = i + 1, j
                while low < high:
                    tour[low], tour[high] = tour[high], tour[low]
                    low, high = low + 1, high - 1
                any_change = True
    return any_change


@part
def _moved(table: Any, tour: Any, spare: Any) -> bool:
    """Move one to three neighbors elsewhere, possibly reversed; returns whether the tour changed."""
    count = len(tour)
    for length in range(1, 4):
        for i in range(count):
            if count < length + 3:
                continue
            # the tour rotated so that the piece comes last
            for place in range(count):
                spare[place] = tour[(i + length + place) % count]
            rest = count - length
            head, tail = spare[rest], spare[count - 1]
            gain = table[spare[rest - 1], head] + table[tail, spare[0]] - table[spare[rest - 1], spare[0]]
            for j in range(rest - 1):
                a, b = spare[j], spare[j + 1]
                ahead = table[a, head] + table[tail, b] - table[a, b]
                turned = table[a, tail] + table[head, b] - table[a, b]
                if min(ahead, turned) < gain - LEAST:
                    for place in range(j + 1):
                        tour[place] = spare[place]
                    for place in range(length):
                        piece = rest + place if ahead <= turned else count - 1 - place
                        tour[j + 1 + place] = spare[piece]
                    for place in range(j + 1, rest):
                        tour[place + length] = spare[place]
                    return True
    return False
