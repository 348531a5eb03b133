# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Spanning trees without subtraction, if the best heads form cycles: slower, accurate to the last digits.

Let a walker at word k step to head i with chance W[i, k] / Σ_i W[i, k]. By Wilson's theorem the head of m is h with
probability

    M[h, m] ∝ W[h, m] · x(h),   x(h) = the chance that the walker from h reaches the root symbol before m

and x follows from elimination: removing word k from the graph adds W[i, k] · W[k, j] / d_k to W[i, j], where
d_k = Σ_i W[i, k] over the nodes still in the graph. Z is the product of all d_k. Only sums, products and
quotients of positive numbers occur (Grassmann, Taksar and Heyman 1985). All are wide numbers (see `wide`),
each with the derivative D of its logarithm along G, which gives the backward pass. A single root is the limit
of root weights scaled by 2^−SINGLE, which is so small that a second root never counts.

The words are halved again and again, so that all m share most eliminations: O(N³) in all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.arguments import arrays
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.exponential import LN2, power_of_two
from regard.structures.kernels.cpu.parallel import over_batch
from regard.structures.kernels.cpu.wide import wide_exp, widen

Array = NDArray[Any]
SINGLE = 2.0**40


@part
def _add(m: float, e: float, d: float, n: float, f: float, g: float) -> tuple[float, float, float]:
    """The sum of two wide numbers with log-derivatives d and g."""
    if n == 0.0:
        return m, e, d
    if m == 0.0:
        mantissa, exponent = widen(n, f)
        return mantissa, exponent, g
    if e < f:
        m, e, d, n, f, g = n, f, g, m, e, d
    small = n * power_of_two(f - e)
    total = m + small
    mantissa, exponent = widen(total, e)
    return mantissa, exponent, d + (small / total) * (g - d)


@part
def load(arcs: Array, G: Array, n: int, single_root: bool, W: Array) -> None:
    """W (3, size, size): mantissas, exponents and log-derivatives of exp(arcs)."""
    for h in range(n + 1):
        for m in range(n + 1):
            W[0, h, m], W[1, h, m], W[2, h, m] = 0.0, -np.inf, 0.0
            if m > 0 and h != m and arcs[h, m] != -np.inf:
                W[0, h, m], W[1, h, m] = wide_exp(arcs[h, m])
                W[2, h, m] = G[h, m]
                if single_root and h == 0:
                    W[1, h, m] -= SINGLE


@part
def eliminate(W: Array, first: int, last: int, kept_first: int, kept_last: int) -> tuple[float, float]:
    """Remove words first .. last − 1 from a graph that keeps kept_first .. kept_last − 1 and the root symbol.

    Column k keeps its values from the moment of its removal. Returns the product of all d_k as its exponent
    (−inf if a word has no possible head) and the logarithm of its mantissa.
    """
    exponent, log_mantissa = 0.0, 0.0
    for k in range(first, last):
        m, e, d = W[0, 0, k], W[1, 0, k], W[2, 0, k]
        for i in range(k + 1, last):
            m, e, d = _add(m, e, d, W[0, i, k], W[1, i, k], W[2, i, k])
        for i in range(kept_first, kept_last):
            m, e, d = _add(m, e, d, W[0, i, k], W[1, i, k], W[2, i, k])
        if m == 0.0:
            return -np.inf, 0.0
        exponent += e
        log_mantissa += math.log(m)
        _bypass(W, k, k + 1, last, kept_first, kept_last, k + 1, last, m, e, d)
        _bypass(W, k, k + 1, last, kept_first, kept_last, kept_first, kept_last, m, e, d)
    return exponent, log_mantissa


@part
def _bypass(
    W: Array, k: int, a: int, b: int, c: int, f: int, first: int, last: int, m: float, e: float, d: float
) -> None:
    """W[i, j] += W[i, k] · W[k, j] / d_k for first ≤ j < last, i = 0, a ≤ i < b and c ≤ i < f."""
    for j in range(first, last):
        if W[0, k, j] == 0.0:
            continue
        mantissa, exponent, score = W[0, k, j] / m, W[1, k, j] - e, W[2, k, j] - d
        _pass_on(W, 0, k, j, mantissa, exponent, score)
        for i in range(a, b):
            _pass_on(W, i, k, j, mantissa, exponent, score)
        for i in range(c, f):
            _pass_on(W, i, k, j, mantissa, exponent, score)


@part
def _pass_on(W: Array, i: int, k: int, j: int, mantissa: float, exponent: float, score: float) -> None:
    if i != j and W[0, i, k] != 0.0:
        W[0, i, j], W[1, i, j], W[2, i, j] = _add(
            W[0, i, j], W[1, i, j], W[2, i, j],
            W[0, i, k] * mantissa, W[1, i, k] + exponent, W[2, i, k] + score)  # fmt: skip


@part
def _log_z(arcs: Array, G: Array, n: int, single_root: bool, W: Array) -> float:
    load(arcs, G, n, single_root, W)
    exponent, log_mantissa = eliminate(W, 1, n + 1, 1, 1)
    if single_root and n > 0:
        # With two factors of 2^−SINGLE left, only trees with more roots exist.
        exponent = exponent + SINGLE if exponent > -1.5 * SINGLE else -np.inf
    return exponent * LN2 + log_mantissa


@part
def reach(W: Array, k: int, x: Array, known: Array, count: int) -> None:
    """x(k), from x of the words that were still in the graph when k was removed."""
    m, e, d = 0.0, -np.inf, 0.0
    total, f, g = 0.0, -np.inf, 0.0
    for index in range(count):
        i = known[index]
        if W[0, i, k] != 0.0:
            total, f, g = _add(total, f, g, W[0, i, k], W[1, i, k], W[2, i, k])
            if x[0, i] != 0.0:
                m, e, d = _add(m, e, d, W[0, i, k] * x[0, i], W[1, i, k] + x[1, i], W[2, i, k] + x[2, i])
    if m == 0.0:
        x[0, k], x[1, k], x[2, k] = 0.0, -np.inf, 0.0
    else:
        x[0, k], x[1, k] = widen(m / total, e - f)
        x[2, k] = d - g


@part
def _head_of(graph: Array, x: Array, m: int, n: int, tangent: bool, out: Array) -> None:
    """Column m of the answer: M[h, m] ∝ W[h, m] · x(h), or its derivative along G."""
    total, e, mean = 0.0, -np.inf, 0.0
    for h in range(n + 1):
        if graph[0, h, m] != 0.0 and x[0, h] != 0.0:
            total, e, mean = _add(
                total, e, mean, graph[0, h, m] * x[0, h], graph[1, h, m] + x[1, h], graph[2, h, m] + x[2, h]
            )
    for h in range(n + 1):
        out[h, m] = 0.0
        if graph[0, h, m] != 0.0 and x[0, h] != 0.0:
            share = graph[0, h, m] * x[0, h] / total * power_of_two(graph[1, h, m] + x[1, h] - e)
            out[h, m] = share * (graph[2, h, m] + x[2, h] - mean) if tangent else share


@part
def _copy_block(graph: Array, onto: Array, first: int, last: int) -> None:
    for field in range(3):
        for j in range(first, last):
            onto[field, 0, j] = graph[field, 0, j]
        for i in range(first, last):
            for j in range(first, last):
                onto[field, i, j] = graph[field, i, j]


@part
def _all_heads(n: int, graphs: Array, tangent: bool, x: Array, known: Array, plan: Array, out: Array) -> None:
    """Every column of the answer, from graphs[0].

    plan[level] = (first, last, stage, gone_first, gone_last): graphs[level] keeps words first .. last − 1.
    Words gone_first .. gone_last − 1 were removed on the way from the level above. The traversal is depth
    first and removes one half, then the other.
    """
    plan[0, 0], plan[0, 1], plan[0, 2] = 1, n + 1, 0
    level = 0
    while level >= 0:
        first, last, stage = plan[level, 0], plan[level, 1], plan[level, 2]
        if last - first == 1:
            _column(n, graphs, level, plan, first, tangent, x, known, out)
            level -= 1
        elif stage == 2:
            level -= 1
        else:
            middle = (first + last) // 2
            kept, gone = (
                ((first, middle), (middle, last)) if stage == 0 else ((middle, last), (first, middle))
            )
            plan[level, 2] += 1
            level += 1
            _copy_block(graphs[level - 1], graphs[level], first, last)
            eliminate(graphs[level], gone[0], gone[1], kept[0], kept[1])
            plan[level, 0], plan[level, 1], plan[level, 2] = kept[0], kept[1], 0
            plan[level, 3], plan[level, 4] = gone[0], gone[1]


@part
def _column(
    n: int, graphs: Array, level: int, plan: Array, m: int, tangent: bool, x: Array, known: Array, out: Array
) -> None:
    """Column m, from x for the only word m left besides the root symbol, in reverse order of elimination."""
    x[0, 0], x[1, 0], x[2, 0] = 1.0, 0.0, 0.0
    x[0, m], x[1, m], x[2, m] = 0.0, -np.inf, 0.0
    known[0], known[1] = 0, m
    count = 2
    for above in range(level, 0, -1):
        for k in range(plan[above, 4] - 1, plan[above, 3] - 1, -1):
            reach(graphs[above], k, x, known, count)
            known[count] = k
            count += 1
    _head_of(graphs[0], x, m, n, tangent, out)


@kernel
def _log_partition(
    arcs: Array, lengths: Array, single_root: bool, result: Array, first: int, last: int
) -> None:
    size = arcs.shape[1]
    W, G = np.empty((3, size, size)), np.zeros((size, size))
    for b in range(first, last):
        result[b] = _log_z(arcs[b], G, lengths[b], single_root, W)


@kernel
def _marginals(
    arcs: Array,
    lengths: Array,
    G: Array,
    single_root: bool,
    tangent: bool,
    result: Array,
    first: int,
    last: int,
) -> None:
    size = arcs.shape[1]
    levels = 2 + math.ceil(math.log2(size))
    graphs, x = np.empty((levels, 3, size, size)), np.empty((3, size))
    known, plan = np.empty(size + 1, np.int64), np.empty((levels, 5), np.int64)
    for b in range(first, last):
        n = lengths[b]
        if n == 0 or _log_z(arcs[b], G[b], n, single_root, graphs[0]) == -np.inf:
            continue
        load(arcs[b], G[b], n, single_root, graphs[0])
        _all_heads(n, graphs, tangent, x, known, plan, result[b])


def log_partition(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    result = torch.empty(arcs.shape[0], dtype=torch.float64)
    a, n, z = arrays(arcs.double(), lengths, result)
    over_batch(_log_partition, arcs.shape[0], 10 * arcs.shape[1] ** 3, a, n, single_root, z)
    return result


def marginals(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    return _answer(arcs, lengths, torch.zeros_like(arcs), single_root, False)


def covariance(arcs: Tensor, lengths: Tensor, gradient: Tensor, single_root: bool) -> Tensor:
    return _answer(arcs, lengths, gradient, single_root, True)


def _answer(arcs: Tensor, lengths: Tensor, gradient: Tensor, single_root: bool, tangent: bool) -> Tensor:
    result = torch.zeros(arcs.shape, dtype=torch.float64)
    a, n, g, z = arrays(arcs.double(), lengths, gradient.double(), result)
    over_batch(_marginals, arcs.shape[0], 30 * arcs.shape[1] ** 3, a, n, g, single_root, tangent, z)
    return result
