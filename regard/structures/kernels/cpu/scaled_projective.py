# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Projective trees on the CPU in plain numbers: Eisner's algorithm over whole diagonals of several sentences.

The scores of the heads of a word are normalized, P[h, m] = exp(arcs[h, m]) / Σ_h' exp(arcs[h', m]). Then no item is
larger than 1, and Z is the probability that words that choose their heads independently form a projective tree. What
is below `TINY` is 0. It matters for Z and for probabilities only if Z itself is below `LEAST`; such sentences are
left to `wide_projective`.

Items are sorted by width w, start s and sentence b of a group of `lanes` sentences:

    right[w, s, b]        trees over s … s+w headed by s, complete
    left[w, s, b]         trees over s … s+w headed by s+w, complete
    right_arc[w, s, b]    the same with the arc s → s+w, before s+w gets its outer dependents
    left_arc[w, s, b]     the same with the arc s+w → s
    split[w, s]         = Σ_k right[k, s] · left[w−1−k, s+k+1], 0 ≤ k < w; for a single root only k = 0 at s = 0
    right_arc[w, s]     = P[s, s+w] · split[w, s]
    right[w, s]         = Σ_k right_arc[k, s] · right[w−k, s+k], 0 < k ≤ w
    left[w, s]          = Σ_k left[k, s] · left_arc[w−k, s+k], 0 ≤ k < w
    Z                   = right[n, 0]

A sum over k adds rows of all s and b at once, in contiguous memory: vectors of any width, without a reduction. The
outside pass is the derivative of log Z by each item; an arc has the probability item · derivative. All numbers of a
group are rows of one array, the charts C (kinds, cells).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.exponential import exp_nonpositive
from regard.structures.kernels.cpu.mathematics import chosen, larger
from regard.structures.kernels.cpu.vectors import add_product, share

Array = NDArray[Any]
TINY = 1e-290
LEAST = 1e-250
RIGHT, LEFT, RIGHT_ARC, LEFT_ARC, SPLIT, TO_RIGHT, TO_LEFT = 0, 1, 2, 3, 4, 5, 6
"""The items, and P of the arcs to the right and to the left."""
OUTSIDE = 7
"""OUTSIDE + kind: the derivatives of log Z by items and splits."""
_CHARTS = 12


@part
def row(width: int, size: int, lanes: int) -> int:
    """Where the items of a width begin."""
    return lanes * (width * size - ((width * (width - 1)) >> 1))


@part
def fill(target: Array, value: float) -> None:
    for j in range(len(target)):
        target[j] = value


@part
def copy(source: Array, target: Array) -> None:
    for j in range(len(target)):
        target[j] = source[j]


@part
def add(source: Array, target: Array) -> None:
    for j in range(len(target)):
        target[j] += source[j]


@part
def _multiply(left: Array, right: Array, target: Array) -> None:
    """target = left · right, 0 if it is tiny; NaN stays NaN."""
    for j in range(len(target)):
        x = left[j] * right[j]
        target[j] = chosen(x < TINY, 0.0, x)


@part
def normalize(arcs: Array, n: int, P: Array) -> float:
    """Fill P[h, m] of one sentence, 0 on the diagonal; returns Σ_m log Σ_h exp(arcs[h, m]). The last two rows of P
    are scratch."""
    top, total = P[-1], P[-2]
    for m in range(1, n + 1):
        top[m], total[m] = -np.inf, 0.0
    for h in range(n + 1):
        for m in range(1, n + 1):
            x = chosen(h == m, -np.inf, float(arcs[h, m]))
            P[h, m] = x
            top[m] = larger(top[m], x)
    for m in range(1, n + 1):
        top[m] = chosen(top[m] == -np.inf, 0.0, top[m])
    for h in range(n + 1):
        for m in range(1, n + 1):
            x = exp_nonpositive(P[h, m] - top[m])
            P[h, m] = x
            total[m] += x
    taken = 0.0
    for m in range(1, n + 1):
        taken += top[m] + math.log(total[m])
        total[m] = 1.0 / total[m]
    for h in range(n + 1):
        for m in range(1, n + 1):
            P[h, m] *= total[m]
    return taken


@part
def scatter(
    matrix: Array, own: int, size: int, lane: int, lanes: int, to_right: Array, to_left: Array
) -> None:
    """Sort the entries [h, m] of a sentence of `own` words by width and start, 0 beyond its length."""
    for w in range(1, size):
        place = row(w, size, lanes) + lane
        for s in range(size - w):
            inside = s + w <= own
            to_right[place + s * lanes] = matrix[s, s + w] if inside else 0.0
            to_left[place + s * lanes] = matrix[s + w, s] if inside and s > 0 else 0.0


@part
def group_size(lengths: Array, order: Array, first: int, lanes: int) -> int:
    """One more than the longest sentence of a group has words."""
    longest = 0
    for lane in range(lanes):
        longest = max(longest, lengths[order[first + lane]])
    return longest + 1


@part
def inside(C: Array, size: int, lanes: int, single_root: bool) -> None:
    """Fill the items of a group from P. With a single root, splits at s = 0 have k = 0 alone."""
    cells, skip = C.shape[1], lanes if single_root else 0
    left, right_arc, left_arc = LEFT * cells, RIGHT_ARC * cells, LEFT_ARC * cells
    fill(C[RIGHT, : size * lanes], 1.0)
    fill(C[LEFT, : size * lanes], 1.0)
    for w in range(1, size):
        at, count = row(w, size, lanes), (size - w) * lanes
        before, split = row(w - 1, size, lanes) + lanes, SPLIT * cells + at
        copy(C[LEFT, before : before + count], C[SPLIT, at : at + count])
        for k in range(1, w):
            x, y = row(k, size, lanes) + skip, row(w - 1 - k, size, lanes) + (k + 1) * lanes + skip
            add_product(C, split + skip, x, left + y, count - skip)
        for side in range(2):
            _multiply(C[TO_RIGHT + side, at : at + count], C[SPLIT, at : at + count],
                      C[RIGHT_ARC + side, at : at + count])  # fmt: skip
            copy(C[RIGHT_ARC + side, at : at + count], C[side, at : at + count])
        for k in range(1, w):
            x, y = row(k, size, lanes), row(w - k, size, lanes) + k * lanes
            add_product(C, at, right_arc + x, y, count)
            add_product(C, left + at, left + x, left_arc + y, count)


@part
def outside(C: Array, size: int, lanes: int, single_root: bool) -> None:
    """Complete the derivatives. They must be 0 but for the items that are Z, which have 1 / Z."""
    cells, skip = C.shape[1], lanes if single_root else 0
    left, right_arc, left_arc, out = LEFT * cells, RIGHT_ARC * cells, LEFT_ARC * cells, OUTSIDE * cells
    for w in range(size - 1, 0, -1):
        at, count = row(w, size, lanes), (size - w) * lanes
        for side in range(2):
            add(C[OUTSIDE + side, at : at + count], C[OUTSIDE + RIGHT_ARC + side, at : at + count])
        for k in range(1, w):
            x, y = row(k, size, lanes), row(w - k, size, lanes) + k * lanes
            share(C, out + at, right_arc + x, y, out + right_arc + x, out + y, count)
            share(C, out + left + at, left + x, left_arc + y, out + left + x, out + left_arc + y, count)
        split = (OUTSIDE + SPLIT) * cells + at
        for side in range(2):
            add_product(
                C, split, (TO_RIGHT + side) * cells + at, out + (RIGHT_ARC + side) * cells + at, count
            )
        before = row(w - 1, size, lanes) + lanes
        add(C[OUTSIDE + SPLIT, at : at + count], C[OUTSIDE + LEFT, before : before + count])
        for k in range(1, w):
            x, y = row(k, size, lanes) + skip, row(w - 1 - k, size, lanes) + (k + 1) * lanes + skip
            share(C, split + skip, x, left + y, out + x, out + left + y, count - skip)


@kernel
def log_partition(arcs: Array, lengths: Array, order: Array, single_root: bool, widest: int, result: Array,
                  doubtful: Array, first: int, last: int) -> None:  # fmt: skip
    """`doubtful` becomes True for the sentences that are left to `wide_projective`."""
    S = arcs.shape[1]
    P, C, taken = np.empty((S + 2, S)), np.empty((OUTSIDE, widest * row(S, S, 1))), np.empty(widest)
    for group in range(first, last, widest):
        lanes = min(widest, last - group)
        size = group_size(lengths, order, group, lanes)
        for lane in range(lanes):
            b = order[group + lane]
            taken[lane] = normalize(arcs[b], lengths[b], P)
            scatter(P, lengths[b], size, lane, lanes, C[TO_RIGHT], C[TO_LEFT])
        inside(C, size, lanes, single_root)
        for lane in range(lanes):
            b = order[group + lane]
            z = C[RIGHT, row(lengths[b], size, lanes) + lane]
            doubtful[b] = not z >= LEAST
            result[b] = math.log(z) + taken[lane] if z >= LEAST else 0.0


@kernel
def marginals(arcs: Array, lengths: Array, order: Array, single_root: bool, widest: int, result: Array,
              doubtful: Array, first: int, last: int) -> None:  # fmt: skip
    """As `log_partition`. `result` must be 0."""
    S = arcs.shape[1]
    P, C = np.empty((S + 2, S)), np.empty((_CHARTS, widest * row(S, S, 1)))
    for group in range(first, last, widest):
        lanes = min(widest, last - group)
        size = group_size(lengths, order, group, lanes)
        for lane in range(lanes):
            b = order[group + lane]
            normalize(arcs[b], lengths[b], P)
            scatter(P, lengths[b], size, lane, lanes, C[TO_RIGHT], C[TO_LEFT])
        inside(C, size, lanes, single_root)
        for kind in range(OUTSIDE, _CHARTS):
            fill(C[kind, : row(size, size, lanes)], 0.0)
        for lane in range(lanes):
            b = order[group + lane]
            end = row(lengths[b], size, lanes) + lane
            doubtful[b] = not C[RIGHT, end] >= LEAST
            C[OUTSIDE + RIGHT, end] = 1.0 / C[RIGHT, end] if C[RIGHT, end] >= LEAST else 0.0
        outside(C, size, lanes, single_root)
        for lane in range(lanes):
            b = order[group + lane]
            for w in range(1, lengths[b] + 1):
                at = row(w, size, lanes) + lane
                for s in range(lengths[b] + 1 - w):
                    place = at + s * lanes
                    result[b, s, s + w] = C[RIGHT_ARC, place] * C[OUTSIDE + RIGHT_ARC, place]
                    if s > 0:
                        result[b, s + w, s] = C[LEFT_ARC, place] * C[OUTSIDE + LEFT_ARC, place]
