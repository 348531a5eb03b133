# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The backward pass of projective marginals in plain numbers; items as in `scaled_projective`.

The Jacobian of the marginals is symmetric, so its product with G is the derivative of the marginals along G. Each
item, and each derivative of log Z by an item, has its rate along G. Each word has one head, so the means of the columns
of G are subtracted first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.mathematics import chosen
from regard.structures.kernels.cpu.scaled_projective import (
    LEAST,
    LEFT,
    LEFT_ARC,
    OUTSIDE,
    RIGHT,
    RIGHT_ARC,
    SPLIT,
    TO_LEFT,
    TO_RIGHT,
    add,
    copy,
    fill,
    group_size,
    inside,
    normalize,
    outside,
    row,
    scatter,
)
from regard.structures.kernels.cpu.vectors import add_products, share_rates

Array = NDArray[Any]
_RATE = 12
"""_RATE + kind: the rates of the items, of log P (G), and of the derivatives of log Z."""
_CHARTS = 24


@part
def _joined(P: Array, split: Array, G: Array, item: Array, target: Array) -> None:
    """target = P · split + G · item, 0 where there is no item."""
    for j in range(len(target)):
        target[j] = chosen(item[j] == 0.0, 0.0, P[j] * split[j] + G[j] * item[j])


@part
def _center(P: Array, G: Array, n: int, mean: Array, target: Array) -> None:
    """G without the mean of each column under P; 0 where P is 0."""
    for m in range(1, n + 1):
        mean[m] = 0.0
    for h in range(n + 1):
        for m in range(1, n + 1):
            x = chosen(P[h, m] == 0.0, 0.0, float(G[h, m]))
            target[h, m] = x
            mean[m] += P[h, m] * x
    for h in range(n + 1):
        for m in range(1, n + 1):
            target[h, m] = chosen(P[h, m] == 0.0, 0.0, target[h, m] - mean[m])


@part
def _inside(C: Array, size: int, lanes: int, single_root: bool) -> None:
    cells, skip = C.shape[1], lanes if single_root else 0
    left, right_arc, left_arc, rate = LEFT * cells, RIGHT_ARC * cells, LEFT_ARC * cells, _RATE * cells
    fill(C[_RATE + RIGHT, : size * lanes], 0.0)
    fill(C[_RATE + LEFT, : size * lanes], 0.0)
    for w in range(1, size):
        at, count = row(w, size, lanes), (size - w) * lanes
        before, split = row(w - 1, size, lanes) + lanes, (_RATE + SPLIT) * cells + at
        copy(C[_RATE + LEFT, before : before + count], C[_RATE + SPLIT, at : at + count])
        for k in range(1, w):
            x, y = row(k, size, lanes) + skip, left + row(w - 1 - k, size, lanes) + (k + 1) * lanes + skip
            add_products(C, split + skip, rate + x, y, x, rate + y, count - skip)
        for side in range(2):
            _joined(C[TO_RIGHT + side, at : at + count], C[_RATE + SPLIT, at : at + count],
                    C[_RATE + TO_RIGHT + side, at : at + count], C[RIGHT_ARC + side, at : at + count],
                    C[_RATE + RIGHT_ARC + side, at : at + count])  # fmt: skip
            copy(C[_RATE + RIGHT_ARC + side, at : at + count], C[_RATE + side, at : at + count])
        for k in range(1, w):
            x, y = row(k, size, lanes), row(w - k, size, lanes) + k * lanes
            add_products(C, rate + at, rate + right_arc + x, y, right_arc + x, rate + y, count)
            x, y = left + x, left_arc + y
            add_products(C, rate + left + at, rate + x, y, x, rate + y, count)


@part
def _outside(C: Array, size: int, lanes: int, single_root: bool) -> None:
    """Complete the rates of the derivatives that `outside` has completed."""
    cells, skip = C.shape[1], lanes if single_root else 0
    left, right_arc, left_arc = LEFT * cells, RIGHT_ARC * cells, LEFT_ARC * cells
    out, rate = OUTSIDE * cells, _RATE * cells
    for w in range(size - 1, 0, -1):
        at, count = row(w, size, lanes), (size - w) * lanes
        for side in range(2):
            add(
                C[_RATE + OUTSIDE + side, at : at + count],
                C[_RATE + OUTSIDE + RIGHT_ARC + side, at : at + count],
            )
        top = out + at
        for k in range(1, w):
            x, y = row(k, size, lanes), row(w - k, size, lanes) + k * lanes
            a, b = right_arc + x, y
            share_rates(C, top, rate + top, a, b, rate + a, rate + b, rate + out + a, rate + out + b, count)
            a, b = left + x, left_arc + y
            share_rates(C, top + left, rate + top + left, a, b, rate + a, rate + b, rate + out + a, rate + out + b,
                        count)  # fmt: skip
        for side in range(2):
            _add_rates(C[TO_RIGHT + side, at : at + count], C[_RATE + TO_RIGHT + side, at : at + count],
                       C[OUTSIDE + RIGHT_ARC + side, at : at + count],
                       C[_RATE + OUTSIDE + RIGHT_ARC + side, at : at + count],
                       C[_RATE + OUTSIDE + SPLIT, at : at + count])  # fmt: skip
        before = row(w - 1, size, lanes) + lanes
        add(C[_RATE + OUTSIDE + SPLIT, at : at + count], C[_RATE + OUTSIDE + LEFT, before : before + count])
        top = (OUTSIDE + SPLIT) * cells + at + skip
        for k in range(1, w):
            a, b = row(k, size, lanes) + skip, left + row(w - 1 - k, size, lanes) + (k + 1) * lanes + skip
            share_rates(
                C, top, rate + top, a, b, rate + a, rate + b, rate + out + a, rate + out + b, count - skip
            )


@part
def _add_rates(P: Array, G: Array, derivative: Array, rate: Array, target: Array) -> None:
    """Along G, P changes by P · G."""
    for j in range(len(target)):
        target[j] += P[j] * (rate[j] + chosen(P[j] == 0.0, 0.0, G[j]) * derivative[j])


@part
def _rate_of(C: Array, kind: int, place: int) -> float:
    """The rate of the probability item · derivative; 0 where that is 0."""
    item, derivative = C[kind, place], C[OUTSIDE + kind, place]
    if item * derivative == 0.0:
        return 0.0
    return C[_RATE + kind, place] * derivative + item * C[_RATE + OUTSIDE + kind, place]


@kernel
def covariance(arcs: Array, lengths: Array, order: Array, single_root: bool, widest: int, gradient: Array,
               result: Array, doubtful: Array, first: int, last: int) -> None:  # fmt: skip
    """As `scaled_projective.marginals`."""
    S = arcs.shape[1]
    P, G, C = np.empty((S + 2, S)), np.empty((S, S)), np.empty((_CHARTS, widest * row(S, S, 1)))
    for group in range(first, last, widest):
        lanes = min(widest, last - group)
        size = group_size(lengths, order, group, lanes)
        for lane in range(lanes):
            b = order[group + lane]
            normalize(arcs[b], lengths[b], P)
            scatter(P, lengths[b], size, lane, lanes, C[TO_RIGHT], C[TO_LEFT])
            _center(P, gradient[b], lengths[b], P[S], G)
            scatter(G, lengths[b], size, lane, lanes, C[_RATE + TO_RIGHT], C[_RATE + TO_LEFT])
        inside(C, size, lanes, single_root)
        _inside(C, size, lanes, single_root)
        for kind in range(OUTSIDE, _RATE):
            fill(C[kind, : row(size, size, lanes)], 0.0)
            fill(C[_RATE + kind, : row(size, size, lanes)], 0.0)
        for lane in range(lanes):
            b = order[group + lane]
            end = row(lengths[b], size, lanes) + lane
            known = C[RIGHT, end] >= LEAST
            doubtful[b] = not known
            top = 1.0 / C[RIGHT, end] if known else 0.0
            C[OUTSIDE + RIGHT, end] = top
            C[_RATE + OUTSIDE + RIGHT, end] = -(C[_RATE + RIGHT, end] * top) * top if known else 0.0
        outside(C, size, lanes, single_root)
        _outside(C, size, lanes, single_root)
        for lane in range(lanes):
            b = order[group + lane]
            for w in range(1, lengths[b] + 1):
                at = row(w, size, lanes) + lane
                for s in range(lengths[b] + 1 - w):
                    result[b, s, s + w] = _rate_of(C, RIGHT_ARC, at + s * lanes)
                    if s > 0:
                        result[b, s + w, s] = _rate_of(C, LEFT_ARC, at + s * lanes)
