"""One step of a search on the CPU, for many rows at once: each core takes some of them from word to logits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.kernels.cpu.compilation import kernel, part
from regard.kernels.cpu.energies import Memories
from regard.kernels.cpu.forth import bend, copy
from regard.kernels.cpu.gates import advance
from regard.kernels.cpu.looks import look
from regard.kernels.cpu.parallel import shares, side_by_side
from regard.kernels.cpu.product import multiply
from regard.kernels.cpu.segments import room_for

Array = Any


class Layers(NamedTuple):
    """The weights in panels, and the biases.

    word       (3H, E), read (3H, D or O) and recurrent (3H, H), its bias; the score's query weight (A, H)
    combine    from [h; c; e(y)], or the first of them, to what is said, (O, …); none where h is what is said
    output     (V, O)
    """

    word: Array
    read: Array
    recurrent: Array
    recurrent_bias: Array
    query: Array
    combine: Array
    combine_bias: Array
    output: Array
    output_bias: Array


class Rows(NamedTuple):
    """What one step reads and writes, for n rows.

    embedded   (n, E)   inputs (n, 3H) what the gates receive besides the word, the read and the state
    fed        (n, O) the last vector, of no width where none is fed back
    state      (n, H) which is advanced   seen (n, H + D + E) [h; c; e(y)]   weights (n, S)
    said       (n, O) what goes to the output layer, and is fed back   logits (n, V)
    """

    embedded: Array
    inputs: Array
    fed: Array
    state: Array
    seen: Array
    weights: Array
    said: Array
    logits: Array


@part
def _look_all(first: int, end: int, alone: bool, layers: Layers, memories: Memories, rows: Rows) -> None:
    """Each memory is asked by as many rows, one after another, as there are hypotheses."""
    size, width, hypotheses = (
        rows.state.shape[1],
        memories.values.shape[2],
        len(rows.state) // len(memories.keys),
    )
    queries = np.empty((end - first, memories.keys.shape[2]), rows.state.dtype)
    scratch = np.empty((2, queries.shape[1]), rows.state.dtype)
    positions = rows.weights.shape[1]
    energies = np.empty((1, positions), rows.state.dtype)
    pairs = np.empty((1, 4 * max(positions - 1, 0)), rows.state.dtype)
    room = room_for(positions, rows.state.dtype.type(0))
    waits = np.ones(rows.weights.shape[1], rows.state.dtype)
    if len(memories.vector) > 0:
        multiply(end - first, (rows.state, first, 1, 0), layers.query, (queries, 0, 1, 0), False)
    for i in range(first, end):
        if len(memories.vector) == 0:
            copy(rows.state[i], queries[i - first])
        context = rows.seen[i, size : size + width]
        look(
            queries[i - first],
            memories,
            i // hypotheses,
            alone,
            waits,
            scratch,
            energies,
            room,
            context,
            rows.weights[i : i + 1],
            pairs,
            0,
        )


@part
def _advance_all(first: int, end: int, read: Any, layers: Layers, rows: Rows) -> None:
    count, size = end - first, rows.state.shape[1]
    multiply(count, (rows.embedded, first, 1, 0), layers.word, (rows.inputs, first, 1, 0), True)
    multiply(count, read, layers.read, (rows.inputs, first, 1, 0), True)
    recurrent = np.empty((count, 3 * size), rows.state.dtype)
    multiply(count, (rows.state, first, 1, 0), layers.recurrent, (recurrent, 0, 1, 0), False)
    before, gates = np.empty(size, rows.state.dtype), np.empty(4 * size, rows.state.dtype)
    for i in range(first, end):
        advance(
            rows.inputs[i], recurrent[i - first], layers.recurrent_bias, rows.state[i],
            before, gates, rows.seen[i, :size],
        )  # fmt: skip


@part
def _say_all(first: int, end: int, bent: bool, layers: Layers, rows: Rows) -> None:
    count = end - first
    for i in range(first, end):
        copy(layers.output_bias, rows.logits[i])
    if len(layers.combine) == 0:
        multiply(count, (rows.state, first, 1, 0), layers.output, (rows.logits, first, 1, 0), True)
        return
    for i in range(first, end):
        copy(layers.combine_bias, rows.said[i])
    multiply(count, (rows.seen, first, 1, 0), layers.combine, (rows.said, first, 1, 0), True)
    if bent:
        for i in range(first, end):
            bend(rows.said[i])
    multiply(count, (rows.said, first, 1, 0), layers.output, (rows.logits, first, 1, 0), True)


@kernel
def _step_part(
    part: int,
    parts: int,
    current: bool,
    bent: bool,
    alone: bool,
    layers: Layers,
    memories: Memories,
    rows: Rows,
) -> None:
    """Looking from the current or the previous state, at all positions or the most probable one `alone`; what is said
    goes through tanh where it is `bent`."""
    size, width, embedded = rows.state.shape[1], memories.values.shape[2], rows.embedded.shape[1]
    first, end = part * len(rows.state) // parts, (part + 1) * len(rows.state) // parts
    if current:
        _advance_all(first, end, (rows.fed, first, 1, 0), layers, rows)
        _look_all(first, end, alone, layers, memories, rows)
    else:
        _look_all(first, end, alone, layers, memories, rows)
        _advance_all(first, end, (rows.seen, first, 1, size), layers, rows)
    for i in range(first, end):
        copy(rows.embedded[i], rows.seen[i, size + width : size + width + embedded])
    _say_all(first, end, bent, layers, rows)


def step_rows(current: bool, bent: bool, alone: bool, layers: Layers, memories: Memories, rows: Rows) -> None:
    """Advances the state of every row, and fills what one step writes."""
    side_by_side(_step_part, shares(len(rows.state)), current, bent, alone, layers, memories, rows)
