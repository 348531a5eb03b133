"""The way back of `attentive`: the gradient of the state from the last step to the first, and what each step leaves
for the gradients of the weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.kernels.cpu.compilation import kernel, part, reduction
from regard.kernels.cpu.energies import Memories
from regard.kernels.cpu.forth import Kept, Panels, copy
from regard.kernels.cpu.gates import retreat
from regard.kernels.cpu.looks import Alone, look_back
from regard.kernels.cpu.product import multiply
from regard.kernels.cpu.segments import RoomBack, room_back_for

Array = Any


class Gradients(NamedTuple):
    """Of the first state (B, H); of what enters the gates from the input and from the state (N, 3H), the queries
    (N, A), what enters the vectors' tanh (N, O), and [h; c] (N, H + D); of the keys (B, S, A), of the score's vector,
    by row (B, A), and of the transitions of segments, by row (B, 4). The last three must be zero to begin with."""

    first: Array
    inputs: Array
    recurrent: Array
    queries: Array
    combined: Array
    both: Array
    keys: Array
    vector: Array
    between: Array


@reduction
def _unbend(d_fed: Array, d_read: Array, vector: Array, out: Array) -> None:
    """Through tanh: what the vector receives from the step it is fed into and from outside."""
    one = vector.dtype.type(1)
    for j in range(len(vector)):
        out[j] = (d_fed[j] + d_read[j]) * (one - vector[j] * vector[j])


@reduction
def _gather(more: Array, total: Array) -> None:
    for j in range(len(total)):
        total[j] += more[j]


@part
def _look_back_all(
    alive: int, first: int, low: int, parts: int, d_weights: Array, memories: Memories, source: Array,
    alone: Alone, panels: Panels, scratch: Array, local: Array, room: RoomBack, kept: Kept, d: Gradients,
    d_state: Array,
) -> None:  # fmt: skip
    size = d_state.shape[1]
    for i in range(alive):
        place, row = low + i * parts, source[first + i * parts]
        look_back(
            d.both[place, size:], d_weights[place], kept.weights, kept.pairs, place, kept.queries[place],
            memories, row, alone.wanted[place], scratch, local, room,
            d.queries[place], d.keys[row], d.vector[row], d.between,
        )  # fmt: skip
        if len(memories.vector) == 0:
            _gather(d.queries[place], d_state[i])
    if len(memories.vector) > 0:
        multiply(alive, (d.queries, low, parts, 0), panels.query, (d_state, 0, 1, 0), True)


@part
def _retreat_all(
    alive: int, low: int, parts: int, d_outputs: Array, kept: Kept, d: Gradients, d_state: Array
) -> None:
    size = d_state.shape[1]
    for i in range(alive):
        place = low + i * parts
        retreat(
            d_state[i], d_outputs[place, :size], kept.gates[place], kept.previous[place],
            d.inputs[place], d.recurrent[place],
        )  # fmt: skip


@kernel
def backward(
    c: int, parts: int, current: bool, d_states: Array, d_reads: Array, d_weights: Array,
    memories: Memories, source: Array, alone: Alone, panels: Panels, starts: Array, kept: Kept, d: Gradients,
) -> None:  # fmt: skip
    """d_states (N, H) of the states as such, unused when looking from the current one; d_reads (N, D or O) of the
    contexts or the vectors; d_weights (N, S). Panels of the transposed weights."""
    size = kept.previous.shape[1]
    rows = len(d.first[c::parts])
    mine = np.zeros((rows, size), d.first.dtype)
    d_fed = np.zeros((rows, kept.vectors.shape[1]), mine.dtype)
    scratch = np.empty((3, kept.queries.shape[1]), mine.dtype)
    local = np.empty((3, kept.weights.shape[1]), mine.dtype)
    room = room_back_for(local.shape[1], mine.dtype.type(0))
    for t in range(len(starts) - 2, -1, -1):
        low = starts[t] + c
        alive = (starts[t + 1] - low + parts - 1) // parts
        if current:
            for i in range(alive):
                place = low + i * parts
                _unbend(d_fed[i], d_reads[place], kept.vectors[place], d.combined[place])
            multiply(alive, (d.combined, low, parts, 0), panels.output, (d.both, low, parts, 0), False)
            _look_back_all(
                alive, c, low, parts, d_weights, memories, source, alone, panels, scratch, local, room, kept, d, mine
            )  # fmt: skip
            _retreat_all(alive, low, parts, d.both, kept, d, mine)
            multiply(alive, (d.inputs, low, parts, 0), panels.read, (d_fed, 0, 1, 0), False)
        else:
            _retreat_all(alive, low, parts, d_states, kept, d, mine)
            for i in range(alive):
                copy(d_reads[low + i * parts], d.both[low + i * parts, size:])
            multiply(alive, (d.inputs, low, parts, 0), panels.read, (d.both, low, parts, size), True)
            _look_back_all(
                alive, c, low, parts, d_weights, memories, source, alone, panels, scratch, local, room, kept, d, mine
            )  # fmt: skip
        multiply(alive, (d.recurrent, low, parts, 0), panels.recurrent, (mine, 0, 1, 0), True)
    for i in range(rows):
        copy(mine[i], d.first[c + i * parts])
