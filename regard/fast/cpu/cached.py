# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""What a step of a Transformer decoder computes between its products: attention over the tokens written so far and
over the memory, sums with normalization, the rectifier.

A search with a beam does not copy the keys and values of its hypotheses: `slots[b, k, s]` is the slot of the beam
that held the token at position s of hypothesis k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.fast.cpu.best import highest_of
from regard.structures.kernels.cpu.compilation import kernel, part, reduction
from regard.structures.kernels.cpu.exponential import exponential

Array = Any


@reduction
def _dot(row: Array, at: int, other: Array, there: int, count: int) -> Any:
    total = row.dtype.type(0)
    for j in range(count):
        total += row[at + j] * other[there + j]
    return total


@part
def _exponentials(energies: Array, highest: Any) -> None:
    for s in range(len(energies)):
        energies[s] = exponential(energies[s] - highest)


@reduction
def _total(row: Array) -> Any:
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += row[j]
    return total


@part
def _softmax(energies: Array) -> None:
    _exponentials(energies, highest_of(energies))
    share = 1 / _total(energies)
    for s in range(len(energies)):
        energies[s] *= share


@part
def _add(weight: Any, values: Array, at: int, out: Array, there: int, count: int) -> None:
    for j in range(count):
        out[there + j] += weight * values[at + j]


@kernel
def written_rows(
    asked: Array, bias: Array, written: Array, slots: Array, place: int, distance: Array, scale: Any, heads: int,
    out: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Attention of each hypothesis over its own tokens, after its last one was written to `written`.

    asked      (B, K, 3 D) queries, keys and values without their bias (3 D); the bias is added in place
    written    (B, T, K', 2 D) keys and values by position and slot
    slots      (B, K, place) or, if every hypothesis has stayed in its slot, empty
    distance   (H, N) scores of distances from 0 on, the last for all larger ones; N = 0: none
    """
    count, size = asked.shape[1], out.shape[2]
    width, moved, far = size // heads, slots.shape[2] > 0, distance.shape[1] - 1
    energies = np.empty(place + 1, asked.dtype)
    for b in range(first, last):
        for k in range(count):
            for j in range(3 * size):
                asked[b, k, j] += bias[j]
            for j in range(2 * size):
                written[b, place, k, j] = asked[b, k, size + j]
        for k in range(count):
            for j in range(size):
                out[b, k, j] = 0
            for h in range(heads):
                low = h * width
                for s in range(place + 1):
                    slot = slots[b, k, s] if moved and s < place else k
                    energies[s] = scale * _dot(asked[b, k], low, written[b, s, slot], low, width)
                if far >= 0:
                    for s in range(place + 1):
                        energies[s] += distance[h, min(place - s, far)]
                _softmax(energies)
                for s in range(place + 1):
                    slot = slots[b, k, s] if moved and s < place else k
                    _add(energies[s], written[b, s, slot], size + low, out[b, k], low, width)


@kernel
def memory_rows(
    asked: Array, bias: Array, memory: Array, mask: Array, scale: Any, heads: int, lowest: Any, out: Array,
    looks: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Attention of each hypothesis over the memory.

    asked     (B, K, D) queries without their bias (D), which is added in place
    memory    (B, S, 2 D) keys and values
    lowest    the energy of a masked position
    looks     (B, K, S) receives the mean weights of all heads; (B, K, 0): not wanted
    """
    count, size, positions = asked.shape[1], out.shape[2], memory.shape[1]
    width, share = size // heads, asked.dtype.type(1) / heads
    energies = np.empty(positions, asked.dtype)
    for b in range(first, last):
        for k in range(count):
            for j in range(size):
                asked[b, k, j] += bias[j]
                out[b, k, j] = 0
            looks[b, k] = 0
            for h in range(heads):
                low = h * width
                for s in range(positions):
                    energies[s] = lowest
                    if mask[b, s]:
                        energies[s] = scale * _dot(asked[b, k], low, memory[b, s], low, width)
                _softmax(energies)
                for s in range(positions):
                    _add(energies[s], memory[b, s], size + low, out[b, k], low, width)
                if looks.shape[2] > 0:
                    for s in range(positions):
                        looks[b, k, s] += share * energies[s]


@reduction
def _summed_squares(row: Array, mean: Any) -> Any:
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += (row[j] - mean) * (row[j] - mean)
    return total


@part
def _normalize(row: Array, gain: Array, shift: Array, epsilon: Any, out: Array) -> None:
    count = row.dtype.type(len(row))
    mean = _total(row) / count
    factor = 1 / np.sqrt(_summed_squares(row, mean) / count + epsilon)
    for j in range(len(row)):
        out[j] = (row[j] - mean) * factor * gain[j] + shift[j]


@kernel
def normed_rows(x: Array, gain: Array, shift: Array, epsilon: Any, out: Array, first: int, last: int) -> None:
    """out = layernorm(x), (n, D)."""
    for i in range(first, last):
        _normalize(x[i], gain, shift, epsilon, out[i])


@kernel
def added_rows(
    x: Array, found: Array, bias: Array, gain: Array, shift: Array, epsilon: Any, after: bool, out: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """x ← x + found + bias and out = layernorm(x); with `after`, x ← out."""
    for i in range(first, last):
        for j in range(x.shape[1]):
            x[i, j] += found[i, j] + bias[j]
        _normalize(x[i], gain, shift, epsilon, out[i])
        if after:
            for j in range(x.shape[1]):
                x[i, j] = out[i, j]


@kernel
def rectified_rows(hidden: Array, bias: Array, first: int, last: int) -> None:
    """hidden ← max(0, hidden + bias); NaN stays NaN."""
    for i in range(first, last):
        for j in range(hidden.shape[1]):
            value = hidden[i, j] + bias[j]
            hidden[i, j] = hidden.dtype.type(0) if value < 0 else value
