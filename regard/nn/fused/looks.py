"""Additive attention with a softmax, one query of each row: score, select and read in one pass, and back.

    e_s = v · tanh(q + k_s),  α = softmax(e),  c = Σ_s α_s h_s

tanh(q + k) = 1 − 2u with u = 1 / (1 + e^{2q} e^{2k}): the keys' exponentials are made once, so an energy costs a
product and a division. The (S, A) of them stay in the nearest cache; the way back computes them again.
Where |q| or |k| is so large that the product could overflow, u comes from tanh itself.

`source[i]` says which memory query i asks, so that several queries, or rows in another order, share one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from regard.nn.fused.mathematics import exponential, hyperbolic
from regard.structures.kernels.cpu.compilation import compiled

Array = Any
LARGEST = 20.0  # e^{2·20} twice is within single precision
_fast = njit(fastmath=True, error_model="numpy", nogil=True)


def prepared(keys: Tensor) -> tuple[Array, Array, Array]:
    """keys (B, S, A), e^{2 keys}, and for each row whether a key is too large for that."""
    bounded = keys.detach()
    extreme = (bounded.abs() > LARGEST).flatten(1).any(1)
    return bounded.numpy(), torch.exp(2 * bounded.clamp(-LARGEST, LARGEST)).numpy(), extreme.numpy()


@_fast  # type: ignore[untyped-decorator]
def _exponentials(query: Array, out: Array) -> bool:
    """e^{2q}; whether some q is too large for it."""
    extreme = False
    for a in range(len(query)):
        extreme = extreme or abs(query[a]) > LARGEST
        out[a] = exponential(query[a] + query[a])
    return extreme


@_fast  # type: ignore[untyped-decorator]
def _shares(query: Array, key: Array, out: Array) -> None:
    for a in range(len(query)):
        out[a] = query.dtype.type(0.5) - query.dtype.type(0.5) * hyperbolic(query[a] + key[a])


@_fast  # type: ignore[untyped-decorator]
def _fast_shares(query: Array, key: Array, out: Array) -> None:
    one = query.dtype.type(1)
    for a in range(len(query)):
        out[a] = one / (one + query[a] * key[a])


@_fast  # type: ignore[untyped-decorator]
def _dot(first: Array, second: Array) -> Any:
    total = first.dtype.type(0)
    for a in range(len(first)):
        total += first[a] * second[a]
    return total


@_fast  # type: ignore[untyped-decorator]
def _add(total: Array, factor: Any, other: Array) -> None:
    for a in range(len(total)):
        total[a] += factor * other[a]


@_fast  # type: ignore[untyped-decorator]
def _spread(
    d_energy: Any, shares: Array, vector: Array, d_query: Array, d_key: Array, d_vector: Array
) -> None:
    """With y = de · u (1 − u): dq gathers y, dk gets 4 v y, dv gathers de · u; factors 4 v and −2 come at the end."""
    four = shares.dtype.type(4)
    for a in range(len(shares)):
        weighted = d_energy * shares[a]
        change = weighted - weighted * shares[a]
        d_query[a] += change
        d_vector[a] += weighted
        d_key[a] += four * vector[a] * change


def _forward(
    query: Array,
    keys: Array,
    exponentials: Array,
    extreme: Array,
    values: Array,
    vector: Array,
    mask: Array,
    source: Array,
    context: Array,
    low: int,
    column: int,
    weights: Array,
) -> None:
    """query (b, A), keys (B, S, A) `prepared`, values (B, S, D), vector (A), mask (B, S), source (b) → weights (b, S).

    The context (b, D) goes to the rows from `low` and the columns from `column` of a wider array.
    """
    rows, size = query.shape
    positions, width = values.shape[1], values.shape[2]
    for i in prange(rows):
        row = source[i]
        grown, shares = np.empty(size, query.dtype), np.empty(size, query.dtype)
        slow = _exponentials(query[i], grown) or extreme[row]
        highest, any_position = query.dtype.type(0), False
        for s in range(positions):
            if mask[row, s]:
                if slow:
                    _shares(query[i], keys[row, s], shares)
                else:
                    _fast_shares(grown, exponentials[row, s], shares)
                energy = -2 * _dot(
                    vector, shares
                )  # Σ v is the same for every position: the softmax does not see it
                weights[i, s] = energy
                if not any_position or energy > highest:
                    highest = energy
                any_position = True
        total = query.dtype.type(0)
        for s in range(positions):
            if mask[row, s]:
                weights[i, s] = exponential(weights[i, s] - highest)
                total += weights[i, s]
            else:
                weights[i, s] = 0
        read = context[low + i, column : column + width]
        read[:] = 0
        for s in range(positions):
            if mask[row, s]:
                weights[i, s] /= total
                _add(read, weights[i, s], values[row, s])


def _backward(
    d_context: Array,
    column: int,
    d_weights: Array,
    weights: Array,
    query: Array,
    keys: Array,
    exponentials: Array,
    extreme: Array,
    values: Array,
    vector: Array,
    mask: Array,
    source: Array,
    d_query: Array,
    d_keys: Array,
    d_vector: Array,
) -> None:
    """d_query (b, A) is written; d_keys (B, S, A) and d_vector (B, A), one row for each source, are added to.

    Each source may be asked by one row only. dα_s = dc · h_s + d_weights_s;  de = α ⊙ (dα − Σ α dα), so Σ de = 0 and
    dv = Σ de (1 − 2u) = −2 Σ de u;  de/dq = 4 v u (1 − u).
    """
    rows, size = query.shape
    positions, width = values.shape[1], values.shape[2]
    for i in prange(rows):
        row = source[i]
        grown, shares = np.empty(size, query.dtype), np.empty(size, query.dtype)
        local, turned = np.empty(positions, query.dtype), np.zeros(size, query.dtype)
        slow = _exponentials(query[i], grown) or extreme[row]
        mean = query.dtype.type(0)
        received = d_context[i, column : column + width]
        for s in range(positions):
            if mask[row, s]:
                local[s] = d_weights[i, s] + _dot(received, values[row, s])
                mean += weights[i, s] * local[s]
        d_query[i] = 0
        for s in range(positions):
            if mask[row, s]:
                if slow:
                    _shares(query[i], keys[row, s], shares)
                else:
                    _fast_shares(grown, exponentials[row, s], shares)
                d_energy = weights[i, s] * (local[s] - mean)
                _spread(d_energy, shares, vector, d_query[i], d_keys[row, s], turned)
        for a in range(size):
            d_query[i, a] *= 4 * vector[a]
        _add(d_vector[row], query.dtype.type(-2), turned)


def _reading(
    weights: Array, d_context: Array, column: int, starts: Array, source: Array, d_values: Array
) -> None:
    """d_values (B, S, D) = Σ_t α_t ⊗ dc_t over the packed steps t of each row, once they are all known."""
    positions, width = d_values.shape[1], d_values.shape[2]
    for i in prange(len(source)):
        row = source[i]
        for t in range(len(starts) - 1):
            place = starts[t] + i
            if place < starts[t + 1]:
                received = d_context[place, column : column + width]
                for s in range(positions):
                    if weights[place, s] != 0:
                        _add(d_values[row, s], weights[place, s], received)


looks_forward = compiled(_forward, parallel=True, fastmath=True, nogil=True, error_model="numpy")
looks_backward = compiled(_backward, parallel=True, fastmath=True, nogil=True, error_model="numpy")
reading_backward = compiled(_reading, parallel=True, fastmath=True, nogil=True, error_model="numpy")
