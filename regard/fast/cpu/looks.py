# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Attention of one query of one row: score, select and read, forward and backward.

e = energies(q, k),  α = softmax(e),  c = Σ_s α_s h_s, or c = h_s of a single position (hard attention);
`choices` contains the other selections
"""

from __future__ import annotations

from typing import Any, NamedTuple

from regard.fast.cpu.choices import SMALLEST, choose, choose_back, factor_of
from regard.fast.cpu.energies import FeatureGradients, compare, compare_back
from regard.fast.cpu.lanes import MANY, add_few, add_many
from regard.fast.cpu.layout import SOFTMAX, Memories
from regard.fast.cpu.location import Nearby
from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.cpu.compilation import inlined, kernel, part, reduction
from regard.structures.kernels.cpu.exponential import exponential
from regard.structures.kernels.cpu.mathematics import larger, smaller
from regard.structures.kernels.cpu.rows import add, dot
from regard.structures.kernels.cpu.segments import RoomBack, SegmentRoom

Array = Any


class Alone(NamedTuple):
    """Hard attention: which of N queries read a single position, that of the largest α_s / wait_s.

    wanted   (N) whether a query reads a single position
    waits    (N, S) exponential waiting times sample a position by its weight, ones take the most probable
             one; of width 0 if no query reads a single position
    chosen   (N) written: the position that was read, −1 if all were
    """

    wanted: Array
    waits: Array
    chosen: Array


@reduction
def _scale(row: Array, factor: float) -> None:
    for a in range(len(row)):
        row[a] *= factor


@reduction
def _settle(vector: Array, compared: Array, energies: Array) -> None:
    """The energies from the result of `compare`. A softmax does not need them."""
    two, total = compared.dtype.type(2), compared.dtype.type(0)
    for a in range(len(vector)):
        total += vector[a]
    for s in range(len(energies)):
        energies[s] = total - two * compared[s]


@inlined
def look(
    query: Array, memories: Memories, row: int, looks: Array, before: int, alone: bool, waits: Array,
    scratch: Array, energies: Array, nearby: Nearby, room: SegmentRoom, context: Array, all_weights: Array,
    pairs: Array, place: int,
) -> int:  # fmt: skip
    """query (A) of memory number `row` → context (D), all_weights[place] (S) and, for segments, pairs[place] (4(S−1)).

    looks[before] (S) are the weights of the previous step; before < 0: there is none. Returns the position
    that is read with `alone`, chosen by the waits (S), else −1. scratch (2, A), energies (1, S), nearby and
    room are scratch.
    """
    places, count, weights = memories.places[row], memories.counts[row], all_weights[place]
    compare(query, memories, row, looks, before, scratch, nearby, weights)
    factor = _weigh(memories, row, energies, room, pairs, all_weights, place)
    if alone and count > 0:
        chosen: int = _first(places, count, weights, waits)
        context[:] = 0
        # factor 1, or NaN if the weight is NaN
        add(context, weights[chosen] * 0 + 1, memories.values[row, chosen])
        return chosen
    _read(memories.values, row, places, count, weights, context)
    if factor != 1.0:
        _scale(context, factor)
    return -1


@inlined
def _read(values: Array, row: int, places: Array, count: int, weights: Array, context: Array) -> None:
    """context = Σ_s α_s h_s, a few columns of all positions at a time."""
    column = 0
    while column + MANY <= len(context):
        add_many(values, row, places, count, weights, column, context)
        column += MANY
    while column + WIDTH <= len(context):
        add_few(values, row, places, count, weights, column, context)
        column += WIDTH
    if column < len(context):
        rest = context[column:]
        rest[:] = 0
        for j in range(count):
            add(rest, weights[places[j]], values[row, places[j], column:])


@inlined
def _weigh(
    memories: Memories, row: int, energies: Array, room: SegmentRoom, pairs: Array, all_weights: Array, place: int
) -> float:  # fmt: skip
    """Turn the result of `compare` into weights; return the factor by which a reading scales them."""
    if memories.choice.kind == SOFTMAX:
        _select(memories.places[row], memories.counts[row], all_weights[place])
        return 1.0
    _settle(memories.vector, all_weights[place], energies[0])
    return choose(energies, memories.exists[row], memories.choice, room, pairs, all_weights, place)


@reduction
def _first(places: Array, count: int, weights: Array, waits: Array) -> int:
    """The position of the largest α / wait, the first among equals."""
    best: int = places[0]
    for j in range(1, count):
        place = places[j]
        if weights[place] * waits[best] > weights[best] * waits[place]:
            best = place
    return best


@reduction
def _select(places: Array, count: int, weights: Array) -> None:
    """v · u becomes softmax(−2 v · u): Σ v, the same for all positions, cancels in the softmax."""
    if count == 0:
        return
    two = weights.dtype.type(2)
    lowest = weights[places[0]]
    for j in range(count):
        lowest = smaller(lowest, weights[places[j]])
    total = weights.dtype.type(0)
    for j in range(count):
        grown = exponential(two * (lowest - weights[places[j]]))
        weights[places[j]] = grown
        total += grown
    for j in range(count):
        weights[places[j]] /= total


@reduction
def _select_back(
    d_context: Array,
    d_weights: Array,
    weights: Array,
    memories: Memories,
    row: int,
    alone: bool,
    local: Array,
) -> None:
    """dα_s = dc · h_s + d_weights_s;  de = α ⊙ (dα − Σ α dα), indexed by `places`.

    With `alone` the reading does not depend on the weights: dα_s = d_weights_s.
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


@reduction
def _choose_back(
    d_context: Array, d_weights: Array, all_weights: Array, pairs: Array, place: int, memories: Memories, row: int,
    rows: Array, room: RoomBack, d_between: Array,
) -> None:  # fmt: skip
    """As `_select_back`, for the other choices; d_context becomes the gradient of the plain sum Σ p h."""
    places, count, weights = memories.places[row], memories.counts[row], all_weights[place]
    choice = memories.choice
    local, received = rows[0], rows[1]
    mean, total = 0.0, 0.0
    received[:] = 0
    for j in range(count):
        s = places[j]
        received[s] = dot(d_context, memories.values[row, s])
        mean += received[s] * weights[s]
        total += weights[s]
    factor = factor_of(total, choice.normalize)
    mean = mean / larger(total, SMALLEST) if choice.normalize != 0 else 0.0
    for s in range(len(received)):
        received[s] = factor * (received[s] - mean) + d_weights[s]
    choose_back(
        memories.exists[row], choice, all_weights, pairs, place, rows[1:2], room, rows[2:3], d_between, row
    )  # fmt: skip
    for j in range(count):
        local[j] = rows[2, places[j]]
    if factor != 1.0:
        _scale(d_context, factor)


@part
def _weigh_back(
    d_context: Array, d_weights: Array, all_weights: Array, pairs: Array, place: int, memories: Memories, row: int,
    alone: bool, rows: Array, room: RoomBack, d_between: Array,
) -> None:  # fmt: skip
    """Write the gradients of the energies into rows[0], indexed by `places`."""
    if memories.choice.kind == SOFTMAX:
        _select_back(d_context, d_weights, all_weights[place], memories, row, alone, rows[0])
    else:
        _choose_back(d_context, d_weights, all_weights, pairs, place, memories, row, rows, room, d_between)


@reduction
def look_back(
    d_context: Array, d_weights: Array, all_weights: Array, pairs: Array, place: int, query: Array,
    memories: Memories, row: int, before: int, alone: bool, scratch: Array, rows: Array, nearby: Nearby,
    room: RoomBack, d: FeatureGradients, d_between: Array,
) -> None:  # fmt: skip
    """Fill d, add to d_between[row] (4), change d_context (D); all_weights[before] are the previous weights.

    scratch (3, A), rows (3, S), nearby and room are scratch.
    """
    _weigh_back(d_context, d_weights, all_weights, pairs, place, memories, row, alone, rows, room, d_between)
    compare_back(query, memories, row, all_weights, before, scratch, nearby, rows[0], d)


@kernel
def reading_backward(
    part: int,
    parts: int,
    weights: Array,
    chosen: Array,
    d_context: Array,
    column: int,
    starts: Array,
    source: Array,
    d_values: Array,
) -> None:
    """d_values (B, S, D) = Σ_t α_t ⊗ dc_t over the packed steps t of each row; where a single position was
    chosen, α_t is 1 there and 0 elsewhere. Takes the rows part, part + parts, …"""
    positions, width = d_values.shape[1], d_values.shape[2]
    for i in range(part, len(source), parts):
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
