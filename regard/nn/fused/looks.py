"""Additive attention with a softmax, one query of each row: score, select and read in one pass, and back.

    e_s = v · tanh(q + k_s),  α = softmax(e),  c = Σ_s α_s h_s

The (S, A) energies never leave the registers: the way back computes them again rather than fetching them.
`source[i]` says which memory query i asks, so that several queries, or rows in another order, share one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from regard.nn.fused.mathematics import exponential, hyperbolic
from regard.structures.kernels.cpu.compilation import compiled

Array = Any


def _forward(
    query: Array,
    keys: Array,
    values: Array,
    vector: Array,
    mask: Array,
    source: Array,
    context: Array,
    weights: Array,
) -> None:
    """query (b, A), keys (B, S, A), values (B, S, D), vector (A), mask (B, S), source (b) → context (b, D), weights (b, S)."""
    rows, size = query.shape
    positions, width = values.shape[1], values.shape[2]
    for i in prange(rows):
        row = source[i]
        highest, any_position = query.dtype.type(0), False
        for s in range(positions):
            if mask[row, s]:
                energy = query.dtype.type(0)
                for a in range(size):
                    energy += vector[a] * hyperbolic(query[i, a] + keys[row, s, a])
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
        for d in range(width):
            context[i, d] = 0
        for s in range(positions):
            if mask[row, s]:
                weight = weights[i, s] / total
                weights[i, s] = weight
                for d in range(width):
                    context[i, d] += weight * values[row, s, d]


def _backward(
    d_context: Array,
    d_weights: Array,
    weights: Array,
    query: Array,
    keys: Array,
    values: Array,
    vector: Array,
    mask: Array,
    source: Array,
    d_query: Array,
    d_keys: Array,
    d_values: Array,
    d_vector: Array,
) -> None:
    """d_query (b, A) is written; d_keys, d_values and d_vector (B, A), one row for each source, are added to.

    Each source may be asked by one row only. dα_s = dc · h_s + d_weights_s;  de = α ⊙ (dα − Σ α dα).
    """
    rows, size = query.shape
    positions, width = values.shape[1], values.shape[2]
    for i in prange(rows):
        row = source[i]
        local = np.empty(positions, query.dtype)
        mean = query.dtype.type(0)
        for s in range(positions):
            if mask[row, s]:
                weight, change = weights[i, s], d_weights[i, s]
                for d in range(width):
                    change += d_context[i, d] * values[row, s, d]
                for d in range(width):
                    d_values[row, s, d] += weight * d_context[i, d]
                local[s] = change
                mean += weight * change
        for a in range(size):
            d_query[i, a] = 0
        for s in range(positions):
            if mask[row, s]:
                d_energy = weights[i, s] * (local[s] - mean)
                for a in range(size):
                    t = hyperbolic(query[i, a] + keys[row, s, a])
                    change = d_energy * vector[a] * (1 - t * t)
                    d_query[i, a] += change
                    d_keys[row, s, a] += change
                    d_vector[row, a] += d_energy * t


looks_forward = compiled(_forward, parallel=True, fastmath=True, nogil=True)
looks_backward = compiled(_backward, parallel=True, fastmath=True, nogil=True)
