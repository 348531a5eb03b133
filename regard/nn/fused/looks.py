"""Attention, one query of one row: score, select and read, and back.

e = energies(q, k),  α = softmax(e),  c = Σ_s α_s h_s, or c = h_s of one position alone;  selections other than a
softmax are in `choices`
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit, prange

from regard.nn.fused.choices import SMALLEST, SOFTMAX, choose, choose_back, factor_of
from regard.nn.fused.energies import Memories, add, add_two, compare, compare_back, dot
from regard.nn.fused.mathematics import exponential
from regard.structures.kernels.cpu.compilation import compiled

Array = Any
_fast = njit(fastmath=True, error_model="numpy", nogil=True)


class Alone(NamedTuple):
    """Which of N queries read one position alone, and which one: that of the largest α_s / wait_s.

    wanted   (N) whether a query does
    waits    (N, S) exponential waiting times draw a position by its weight, ones take the most probable one; of no
             width where no query wants it
    chosen   (N) the position that was read, to be written; −1 where all of them were
    """

    wanted: Array
    waits: Array
    chosen: Array


@_fast  # type: ignore[untyped-decorator]
def _scale(row: Array, factor: float) -> None:
    for a in range(len(row)):
        row[a] *= factor


@_fast  # type: ignore[untyped-decorator]
def _settle(vector: Array, compared: Array, energies: Array) -> None:
    """The energies themselves, which a softmax need not know."""
    total = compared.dtype.type(0)
    for a in range(len(vector)):
        total += vector[a]
    for s in range(len(energies)):
        energies[s] = total - 2 * compared[s]


@_fast  # type: ignore[untyped-decorator]
def look(
    query: Array, memories: Memories, row: int, alone: bool, waits: Array, scratch: Array, chain: Array,
    context: Array, weights: Array, energies: Array,
) -> int:  # fmt: skip
    """query (A) of memory number `row` → context (D), weights (S) and, but for a softmax, energies (S).

    Returns the position that is read alone, where one is, by the waits (S); −1 where all of them are.
    scratch (2, A), chain (2, S).
    """
    places, count = memories.places[row], memories.counts[row]
    compare(query, memories, row, scratch, weights)
    factor = 1.0
    if memories.choice.kind == SOFTMAX:
        _select(places, count, weights)
    else:
        _settle(memories.vector, weights, energies)
        factor = choose(energies, memories.exists[row], memories.choice, chain, weights)
    context[:] = 0
    if alone and count > 0:
        chosen: int = _first(places, count, weights, waits)
        add(context, context.dtype.type(1), memories.values[row, chosen])
        return chosen
    for j in range(0, count - 1, 2):
        one, other = places[j], places[j + 1]
        add_two(context, weights[one], memories.values[row, one], weights[other], memories.values[row, other])
    if count % 2:
        place = places[count - 1]
        add(context, weights[place], memories.values[row, place])
    if factor != 1.0:
        _scale(context, factor)
    return -1


@_fast  # type: ignore[untyped-decorator]
def _first(places: Array, count: int, weights: Array, waits: Array) -> int:
    """The position of the largest α / wait, the first of equals."""
    best: int = places[0]
    for j in range(1, count):
        place = places[j]
        if weights[place] * waits[best] > weights[best] * waits[place]:
            best = place
    return best


@_fast  # type: ignore[untyped-decorator]
def _select(places: Array, count: int, weights: Array) -> None:
    """v · u becomes softmax(−2 v · u): Σ v is the same for every position, so the softmax does not see it."""
    if count == 0:
        return
    two = weights.dtype.type(2)
    lowest = weights[places[0]]
    for j in range(count):
        lowest = min(lowest, weights[places[j]])
    total = weights.dtype.type(0)
    for j in range(count):
        grown = exponential(two * (lowest - weights[places[j]]))
        weights[places[j]] = grown
        total += grown
    for j in range(count):
        weights[places[j]] /= total


@_fast  # type: ignore[untyped-decorator]
def _select_back(
    d_context: Array,
    d_weights: Array,
    weights: Array,
    memories: Memories,
    row: int,
    alone: bool,
    local: Array,
) -> None:
    """dα_s = dc · h_s + d_weights_s;  de = α ⊙ (dα − Σ α dα), by the places that exist.

    A position read alone owes its reading to no weight: there dα_s = d_weights_s.
    """
    places, count = memories.places[row], memories.counts[row]
    mean = weights.dtype.type(0)
    for j in range(count):
        place = places[j]
        local[j] = d_weights[place]
        if not alone:
            local[j] += dot(d_context, memories.values[row, place])
        mean += weights[place] * local[j]
    for j in range(count):
        local[j] = weights[places[j]] * (local[j] - mean)


@_fast  # type: ignore[untyped-decorator]
def _choose_back(
    d_context: Array, d_weights: Array, weights: Array, energies: Array, memories: Memories, row: int,
    chain: Array, local: Array, d_pairs: Array,
) -> None:  # fmt: skip
    """As `_select_back`, for the other choices; d_context becomes what the plain sum Σ p h receives. chain (6, S)."""
    places, count = memories.places[row], memories.counts[row]
    received, d_energies = chain[4], chain[5]
    mean, total = 0.0, 0.0
    received[:] = 0
    for j in range(count):
        place = places[j]
        received[place] = dot(d_context, memories.values[row, place])
        mean += received[place] * weights[place]
        total += weights[place]
    factor = factor_of(total, memories.choice.normalize)
    mean = mean / max(total, SMALLEST) if memories.choice.normalize != 0 else 0.0
    for s in range(len(received)):
        received[s] = factor * (received[s] - mean) + d_weights[s]
    choose_back(
        energies, memories.exists[row], memories.choice, weights, received, chain, d_energies, d_pairs
    )
    for j in range(count):
        local[j] = d_energies[places[j]]
    if factor != 1.0:
        _scale(d_context, factor)


@_fast  # type: ignore[untyped-decorator]
def look_back(
    d_context: Array, d_weights: Array, weights: Array, energies: Array, query: Array, memories: Memories,
    row: int, alone: bool, scratch: Array, chain: Array, local: Array,
    d_query: Array, d_keys: Array, d_vector: Array, d_pairs: Array,
) -> None:  # fmt: skip
    """d_query (A) is written; d_keys (S, A), d_vector (A) and d_pairs (2, 2) are added to; d_context (D) is changed.

    scratch (3, A), chain (6, S), local (S).
    """
    if memories.choice.kind == SOFTMAX:
        _select_back(d_context, d_weights, weights, memories, row, alone, local)
    else:
        _choose_back(d_context, d_weights, weights, energies, memories, row, chain, local, d_pairs)
    d_query[:] = 0
    if len(memories.vector) == 0:
        for j in range(memories.counts[row]):
            place = memories.places[row, j]
            add(d_query, local[j], memories.keys[row, place])
            add(d_keys[place], local[j], query)
    else:
        compare_back(query, memories, row, scratch, local, d_query, d_keys, d_vector)


def _reading(
    weights: Array,
    chosen: Array,
    d_context: Array,
    column: int,
    starts: Array,
    source: Array,
    d_values: Array,
) -> None:
    """d_values (B, S, D) = Σ_t α_t ⊗ dc_t over the packed steps t of each row, once they are all known; where one
    position was chosen, α_t is 1 there and 0 elsewhere."""
    positions, width = d_values.shape[1], d_values.shape[2]
    for i in prange(len(source)):
        row = source[i]
        for t in range(len(starts) - 1):
            place = starts[t] + i
            if place < starts[t + 1]:
                received = d_context[place, column : column + width]
                if chosen[place] >= 0:
                    add(d_values[row, chosen[place]], d_values.dtype.type(1), received)
                    continue
                for s in range(positions):
                    if weights[place, s] != 0:
                        add(d_values[row, s], weights[place, s], received)


reading_backward = compiled(_reading, parallel=True, fastmath=True, nogil=True, error_model="numpy")
