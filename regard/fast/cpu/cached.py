# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""What a step of a Transformer decoder computes between its products: attention over the tokens written so far and
over the memory, sums with normalization, the rectifier. `transformer_step` calls it.

A search with a beam does not copy the keys and values of its hypotheses: `slots[b, k, s]` is the slot of the beam
that held the token at position s of hypothesis k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.fast.cpu.best import highest_of
from regard.structures.kernels.cpu.compilation import part, reduction
from regard.structures.kernels.cpu.exponential import exponential

Array = Any


@reduction
def compare_heads(
    query: Array, at: Any, keys: Array, places: Array, width: int, scale: Any, out: Array
) -> None:
    """Energies of a query, from `at` on, with the keys at these places; all arrays are flat.

    Four keys at a time, so that the query is read once for four. Unsigned places, because numba would ask at each
    access whether a signed one counts from the end.
    """
    zero, s = out.dtype.type(0), 0
    while s + 4 <= len(out):
        a, b, c, d = places[s], places[s + 1], places[s + 2], places[s + 3]
        of_a, of_b, of_c, of_d = zero, zero, zero, zero
        for i in range(width):
            j = np.uint64(i)
            one = query[at + j]
            of_a += one * keys[a + j]
            of_b += one * keys[b + j]
            of_c += one * keys[c + j]
            of_d += one * keys[d + j]
        out[s], out[s + 1], out[s + 2], out[s + 3] = scale * of_a, scale * of_b, scale * of_c, scale * of_d
        s += 4
    while s < len(out):
        place, total = places[s], zero
        for i in range(width):
            total += query[at + np.uint64(i)] * keys[place + np.uint64(i)]
        out[s] = scale * total
        s += 1


@part
def read_heads(
    weights: Array, values: Array, places: Array, apart: Any, width: int, out: Array, at: Any
) -> None:
    """Write the sum of the weighted values, `apart` behind the keys, to `out` from `at` on."""
    for i in range(width):
        out[at + np.uint64(i)] = 0
    s = 0
    while s + 4 <= len(weights):
        a, b, c, d = places[s] + apart, places[s + 1] + apart, places[s + 2] + apart, places[s + 3] + apart
        of_a, of_b, of_c, of_d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        for i in range(width):
            j = np.uint64(i)
            sums = of_a * values[a + j] + of_b * values[b + j] + of_c * values[c + j] + of_d * values[d + j]
            out[at + j] += sums
        s += 4
    while s < len(weights):
        place, weight = places[s] + apart, weights[s]
        for i in range(width):
            out[at + np.uint64(i)] += weight * values[place + np.uint64(i)]
        s += 1


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
def softmax(energies: Array) -> None:
    _exponentials(energies, highest_of(energies))
    share = 1 / _total(energies)
    for s in range(len(energies)):
        energies[s] *= share


@part
def add_row(row: Array, other: Array) -> None:
    for j in range(len(row)):
        row[j] += other[j]


@part
def _copy(row: Array, out: Array) -> None:
    for j in range(len(row)):
        out[j] = row[j]


@part
def _move(places: Array, by: Any) -> None:
    for s in range(len(places)):
        places[s] += by


@part
def written_rows(
    asked: Array, bias: Array, written: Array, slots: Array, place: int, distance: Array, scale: Any, heads: int,
    out: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Attention of each hypothesis over its own tokens, after its last one was written to `written`.

    asked      (B, K, 3 D) queries, keys and values without their bias (3 D); the bias is added in place
    written    (B, T, K', 2 D) keys and values by position and slot
    slots      (B, K, place) or, if every hypothesis has stayed in its slot, (1, 0, 0)
    distance   (H, N) scores of distances from 0 on, the last for all larger ones; N = 0: none
    out        (B, K, D)
    """
    count, size, room, wide = asked.shape[1], out.shape[2], written.shape[1], written.shape[2]
    width, moved, far = size // heads, slots.shape[2] > 0, distance.shape[1] - 1
    queries, keys, found = asked.reshape(-1), written.reshape(-1), out.reshape(-1)
    energies, places = np.empty(place + 1, asked.dtype), np.empty(place + 1, np.uint64)
    for b in range(first, last):
        for k in range(count):
            add_row(asked[b, k], bias)
            _copy(asked[b, k, size:], written[b, place, k])
        for k in range(count):
            for s in range(place + 1):
                slot = slots[b, k, s] if moved and s < place else k
                places[s] = np.uint64(((b * room + s) * wide + slot) * 2 * size)
            row = b * count + k
            for h in range(heads):
                compare_heads(
                    queries, np.uint64(row * 3 * size + h * width), keys, places, width, scale, energies
                )
                if far >= 0:
                    for s in range(place + 1):
                        energies[s] += distance[h, min(place - s, far)]
                softmax(energies)
                read_heads(
                    energies, keys, places, np.uint64(size), width, found, np.uint64(row * size + h * width)
                )
                _move(places, np.uint64(width))


@part
def memory_rows(
    asked: Array, bias: Array, memory: Array, mask: Array, scale: Any, heads: int, out: Array, looks: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """Attention of each hypothesis over the positions of the memory that exist; if none does, over all in equal shares.

    asked     (B, K, D) queries without their bias (D), which is added in place
    memory    (B, S, 2 D) keys and values
    out       (B, K, D)
    looks     (B, K, S) receives the mean weights of all heads; (B, K, 0): not wanted
    """
    count, size, positions = asked.shape[1], out.shape[2], memory.shape[1]
    width, share, zero = size // heads, asked.dtype.type(1 / heads), asked.dtype.type(0)
    queries, keys, found = asked.reshape(-1), memory.reshape(-1), out.reshape(-1)
    room, places, there = np.empty(positions, asked.dtype), np.empty(positions, np.uint64), 0
    exists = np.empty(positions, np.int64)
    for b in range(first, last):
        there = 0
        for s in range(positions):
            if mask[b, s]:
                exists[there] = s
                there += 1
        if there == 0:  # as a softmax of equal numbers
            for s in range(positions):
                exists[s] = s
        some = exists[: there if there > 0 else positions]
        energies, here = room[: len(some)], places[: len(some)]
        for k in range(count):
            row = b * count + k
            add_row(asked[b, k], bias)
            if looks.shape[2] > 0:
                looks[b, k] = zero
            for s in range(len(some)):
                here[s] = np.uint64((b * positions + some[s]) * 2 * size)
            for h in range(heads):
                compare_heads(queries, np.uint64(row * size + h * width), keys, here, width, scale, energies)
                if there == 0:
                    energies[:] = zero
                softmax(energies)
                read_heads(
                    energies, keys, here, np.uint64(size), width, found, np.uint64(row * size + h * width)
                )
                _move(here, np.uint64(width))
                if looks.shape[2] > 0:
                    for s in range(len(some)):
                        looks[b, k, some[s]] += share * energies[s]


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


@part
def normed_rows(x: Array, gain: Array, shift: Array, epsilon: Any, out: Array, first: int, last: int) -> None:
    """out = layernorm(x), (n, D)."""
    for i in range(first, last):
        _normalize(x[i], gain, shift, epsilon, out[i])


@part
def added_rows(
    x: Array, found: Array, bias: Array, gain: Array, shift: Array, epsilon: Any, after: bool, out: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """x ← x + found + bias and out = layernorm(x); with `after`, x ← out."""
    for i in range(first, last):
        add_row(x[i], found[i])
        add_row(x[i], bias)
        _normalize(x[i], gain, shift, epsilon, out[i])
        if after:
            _copy(out[i], x[i])


@part
def rectified_rows(hidden: Array, bias: Array, first: int, last: int) -> None:
    """hidden ← max(0, hidden + bias); NaN stays NaN."""
    for i in range(first, last):
        row, zero = hidden[i], hidden.dtype.type(0)
        for j in range(len(row)):
            value = row[j] + bias[j]
            row[j] = zero if value < zero else value
