# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Exact samples of spanning trees on the CPU.

Wilson's algorithm (1996): from each word walk to heads drawn by weight until the walk reaches the tree built
so far. The walk without its loops joins the tree. For a single root the root word is drawn first, and the
walks end there. Walks can take very long if the best heads form cycles. Heads of such sentences are drawn
word by word from the marginals without subtraction (see `absorption`), given the heads drawn before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.absorption import eliminate, load, reach
from regard.structures.kernels.cpu.arguments import arrays
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.exponential import power_of_two
from regard.structures.kernels.cpu.parallel import over_batch
from regard.structures.kernels.cpu.rows import copy

Array = NDArray[Any]


@part
def _uniform(state: Array) -> float:
    """The next number in [0, 1) of a SplitMix64 generator."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float((z >> np.uint64(11)) * (1.0 / 9007199254740992.0))


@part
def _draw(weights: Array, state: Array) -> int:
    """Draw an index with probability proportional to its weight."""
    total = 0.0
    for weight in weights:
        total += weight
    left = _uniform(state) * total
    chosen = -1
    for index in range(weights.shape[0]):
        if weights[index] > 0.0:
            chosen = index
            left -= weights[index]
            if left < 0.0:
                break
    return chosen


@part
def _walk(
    columns: Array, marginals: Array, n: int, single_root: bool, state: Array, heads: Array, joined: Array
) -> None:
    """Wilson's algorithm for one sentence; columns[m, h] = W[h, m]."""
    joined[: n + 1] = False
    joined[0] = True
    if single_root:
        root = _draw(marginals[0, : n + 1], state)
        heads[root] = 0
        joined[root] = True
    lowest = 1 if single_root else 0
    for start in range(1, n + 1):
        u = start
        while not joined[u]:
            heads[u] = lowest + _draw(columns[u, lowest : n + 1], state)
            u = heads[u]
        u = start
        while not joined[u]:
            joined[u] = True
            u = heads[u]


@part
def _one_by_one(
    arcs: Array, n: int, single_root: bool, state: Array, heads: Array, W: Array, x: Array
) -> None:
    """Draw the head of each word in turn from M[h, m] ∝ W[h, m] · x(h), with the heads drawn so far fixed."""
    given, nothing = arcs.copy(), np.zeros_like(arcs)
    order, weights = np.empty(n + 1, np.int64), np.empty(n + 1)
    moved = np.empty((3, n + 1, n + 1))
    for m in range(1, n + 1):
        load(given, nothing, n, single_root, W)
        # Words m and n are swapped, so that all other words form a range.
        for h in range(n + 1):
            order[h] = h
        order[m], order[n] = n, m
        for h in range(n + 1):
            for j in range(n + 1):
                for field in range(3):
                    moved[field, h, j] = W[field, order[h], order[j]]
        for field in range(3):
            for h in range(n + 1):
                copy(moved[field, h], W[field, h, : n + 1])
        eliminate(W, 1, n, n, n + 1)
        x[0, 0], x[1, 0], x[2, 0] = 1.0, 0.0, 0.0
        x[0, n], x[1, n], x[2, n] = 0.0, -np.inf, 0.0
        known = np.empty(n + 1, np.int64)
        known[0], known[1] = 0, n
        for k in range(n - 1, 0, -1):
            reach(W, k, x, known, n + 1 - k)
            known[n + 1 - k] = k
        top = -np.inf
        for h in range(n + 1):
            if moved[0, h, n] != 0.0 and x[0, h] != 0.0:
                top = max(top, moved[1, h, n] + x[1, h])
        for h in range(n + 1):
            weights[order[h]] = 0.0
            if moved[0, h, n] != 0.0 and x[0, h] != 0.0:
                weights[order[h]] = moved[0, h, n] * x[0, h] * power_of_two(moved[1, h, n] + x[1, h] - top)
        heads[m] = _draw(weights, state)
        given[:, m] = -np.inf
        given[heads[m], m] = arcs[heads[m], m]


@kernel
def _sample(arcs: Array, columns: Array, marginals: Array, lengths: Array, doubtful: Array, possible: Array,
            single_root: bool, seeds: Array, heads: Array, first: int, last: int) -> None:  # fmt: skip
    """heads (samples, B, N+1) must be filled with −1."""
    size = arcs.shape[1]
    W, x, joined = np.empty((3, size, size)), np.empty((3, size)), np.empty(size, np.bool_)
    state = np.empty(1, np.uint64)
    for b in range(first, last):
        n = lengths[b]
        if n == 0 or not possible[b]:
            continue
        for sample in range(heads.shape[0]):
            state[0] = np.uint64(seeds[sample, b])
            if doubtful[b]:
                _one_by_one(arcs[b], n, single_root, state, heads[sample, b], W, x)
            else:
                _walk(columns[b], marginals[b], n, single_root, state, heads[sample, b], joined)


def sample(
    arcs: Tensor,
    W: Tensor,
    marginals: Tensor,
    lengths: Tensor,
    doubtful: Tensor,
    single_root: bool,
    seeds: Tensor,
) -> Tensor:
    """Heads (samples, B, N+1), −1 as in `arborescence.mode`; one seed for each sample and sentence."""
    columns = torch.zeros_like(arcs, dtype=torch.float64)
    columns[:, 1:] = W.transpose(1, 2)
    heads = torch.full((seeds.shape[0], *arcs.shape[:2]), -1, dtype=torch.int64)
    possible = marginals.sum((1, 2)) > 0
    parts = (arcs.double(), columns, marginals.double(), lengths, doubtful, possible)
    a, c, m, n, d, p, s, h = arrays(*(part.cpu() for part in parts), seeds.cpu(), heads)
    over_batch(
        _sample, arcs.shape[0], seeds.shape[0] * arcs.shape[1] ** 2, a, c, m, n, d, p, single_root, s, h
    )
    return heads.to(arcs.device)
