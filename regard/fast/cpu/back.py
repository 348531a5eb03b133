"""Backward pass of `attentive`: the gradients of the states from the last step to the first, and the values
from which the gradients of the weights are computed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.energies import FeatureGradients
from regard.fast.cpu.forth import Between, Kept, Panels, gather, masked
from regard.fast.cpu.gates import retreat
from regard.fast.cpu.layout import DOT, GRU, Memories
from regard.fast.cpu.location import nearby_for
from regard.fast.cpu.looks import Alone, look_back
from regard.fast.cpu.product import Target, Window, multiply
from regard.structures.kernels.cpu.compilation import kernel, part, reduction
from regard.structures.kernels.cpu.rows import add, copy
from regard.structures.kernels.cpu.segments import room_back_for

Array = Any


class Gradients(NamedTuple):
    """Gradients. The last five must be zero at the start.

    first       (L, B, Z) of the first states
    inputs      (L, N, G) of the gates' input parts
    recurrent   (L, N, G) of the gates' state parts, for a gru only
    queries     (N, A)
    combined    (N, O) of the argument of the vectors' tanh
    both        (N, H + D) of [h; c]
    keys        (B, S, A)
    vector      (B, A) of the score's vector, by row
    between     (B, 4) of the transitions of segments, by row
    filters     (parts, R, J) of the location's filters, by part
    place       (parts, J, A) of the location's weight, by part
    """

    first: Array
    inputs: Array
    recurrent: Array
    queries: Array
    combined: Array
    both: Array
    keys: Array
    vector: Array
    between: Array
    filters: Array
    place: Array


@reduction
def _unbend(d_fed: Array, d_read: Array, vector: Array, out: Array) -> None:
    """Backward through tanh; the vector's gradient comes from the step it is fed into and from outside."""
    one = vector.dtype.type(1)
    for j in range(len(vector)):
        out[j] = (d_fed[j] + d_read[j]) * (one - vector[j] * vector[j])


@part
def _look_back_all(
    c: int, alive: int, low: int, before: int, parts: int, d_weights: Array, d_looks: Array, memories: Memories,
    source: Array, alone: Alone, panels: Panels, scratch: Array, local: Array, received: Array, nearby: Any,
    room: Any, kept: Kept, d: Gradients, asked: Array,
) -> None:  # fmt: skip
    """Backward through the attention of one step.

    d_looks (rows, S) holds the gradient of this step's weights from the next step's attention, and on return
    that of the previous step's weights. The gradients of the querying states are added to `asked` (rows, H).
    """
    size = asked.shape[1]
    for i in range(alive):
        place, row = low + i * parts, source[c + i * parts]
        copy(d_weights[place], received)
        if len(memories.location.filters) > 0:
            gather(d_looks[i], received)
        look_back(
            d.both[place, size:], received, kept.weights, kept.pairs, place, kept.queries[place],
            memories, row, before + i * parts if before >= 0 else -1, alone.wanted[place], scratch, local, nearby, room,
            FeatureGradients(
                d.queries[place], d.keys[row], d.vector[row], d.filters[c], d.place[c], d_looks[i]
            ),
            d.between,
        )  # fmt: skip
        if memories.score == DOT:
            add(asked[i], memories.scale, d.queries[place])
    if memories.score != DOT:
        multiply(alive, Window(d.queries, low, parts, 0), panels.query, Target(asked, 0, 1, 0, True))


@part
def _retreat_all(
    alive: int, low: int, parts: int, kind: int, panels: Panels, between: Between, kept: Kept, d: Gradients,
    d_outputs: Array, d_below: Array, d_state: Array, d_carry: Array,
) -> None:  # fmt: skip
    """Backward through all layers; d_outputs (rows, H) starts as the gradient of the top layer's output."""
    for layer in range(len(d_state) - 1, -1, -1):
        for i in range(alive):
            place = low + i * parts
            retreat(
                kind, d_state[layer, i], d_carry[layer, i], d_outputs[i], kept.gates[layer, place],
                kept.previous[layer, place], d.inputs[layer, place], d.recurrent[layer, place],
            )  # fmt: skip
        into = Target(d_state[layer], 0, 1, 0, True)
        if kind == GRU:
            multiply(alive, Window(d.recurrent[layer], low, parts, 0), panels.recurrent[layer], into)
        else:
            multiply(alive, Window(d.inputs[layer], low, parts, 0), panels.recurrent[layer], into)
        if layer > 0:
            source, above = Window(d.inputs[layer], low, parts, 0), panels.below[layer - 1]
            multiply(alive, source, above, Target(d_below, 0, 1, 0, False))
            for i in range(alive):
                if between.residual:
                    gather(d_outputs[i], d_below[i])
                if len(between.masks) > 0:
                    masked(d_below[i], between.masks[layer - 1, low + i * parts])
                copy(d_below[i], d_outputs[i])


@kernel
def backward(
    c: int, parts: int, kind: int, current: bool, d_states: Array, d_reads: Array, d_weights: Array,
    memories: Memories, source: Array, alone: Alone, panels: Panels, between: Between, starts: Array,
    kept: Kept, d: Gradients,
) -> None:  # fmt: skip
    """The inputs are the gradients d_states (N, H) of the states (unused if queries come from the current
    state), d_reads (N, D or O) of the contexts or vectors, and d_weights (N, S). The panels are those of the
    transposed weights.
    """
    layers, _, size = kept.previous.shape
    rows = len(d.first[0, c::parts])
    mine = np.zeros((layers, rows, size), d.first.dtype)
    carry = np.zeros((layers, rows, d.first.shape[2] - size), mine.dtype)
    d_outputs, d_below = np.empty((rows, size), mine.dtype), np.empty((rows, size), mine.dtype)
    d_fed = np.zeros((rows, kept.vectors.shape[1]), mine.dtype)
    scratch = np.empty((3, kept.queries.shape[1]), mine.dtype)
    local, received = (
        np.empty((3, kept.weights.shape[1]), mine.dtype),
        np.empty(kept.weights.shape[1], mine.dtype),
    )
    d_looks = np.zeros((rows, kept.weights.shape[1]), mine.dtype)
    zero = mine.dtype.type(0)
    nearby = nearby_for(memories.location, local.shape[1], scratch.shape[1], zero)
    room = room_back_for(local.shape[1], zero)
    for t in range(len(starts) - 2, -1, -1):
        low = starts[t] + c
        before = starts[t - 1] + c if t > 0 else -1
        alive = (starts[t + 1] - low + parts - 1) // parts
        if current:
            for i in range(alive):
                place = low + i * parts
                _unbend(d_fed[i], d_reads[place], kept.vectors[place], d.combined[place])
            multiply(
                alive, Window(d.combined, low, parts, 0), panels.output, Target(d.both, low, parts, 0, False)
            )
            for i in range(alive):
                copy(d.both[low + i * parts, :size], d_outputs[i])
            _look_back_all(
                c, alive, low, before, parts, d_weights, d_looks, memories, source, alone, panels,
                scratch, local, received, nearby, room, kept, d, d_outputs,
            )  # fmt: skip
            _retreat_all(alive, low, parts, kind, panels, between, kept, d, d_outputs, d_below, mine, carry)
            multiply(alive, Window(d.inputs[0], low, parts, 0), panels.read, Target(d_fed, 0, 1, 0, False))
        else:
            for i in range(alive):
                copy(d_states[low + i * parts], d_outputs[i])
            _retreat_all(alive, low, parts, kind, panels, between, kept, d, d_outputs, d_below, mine, carry)
            for i in range(alive):
                copy(d_reads[low + i * parts], d.both[low + i * parts, size:])
            multiply(
                alive, Window(d.inputs[0], low, parts, 0), panels.read, Target(d.both, low, parts, size, True)
            )
            _look_back_all(
                c, alive, low, before, parts, d_weights, d_looks, memories, source, alone, panels,
                scratch, local, received, nearby, room, kept, d, mine[layers - 1],
            )  # fmt: skip
    for layer in range(layers):
        for i in range(rows):
            copy(mine[layer, i], d.first[layer, c + i * parts, :size])
            copy(carry[layer, i], d.first[layer, c + i * parts, size:])
