"""The way forth of `attentive`: some rows from their first step to their last, keeping what the way back needs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.kernels.cpu.compilation import kernel, part, reduction
from regard.kernels.cpu.energies import Memories
from regard.kernels.cpu.gates import advance
from regard.kernels.cpu.looks import Alone, look
from regard.kernels.cpu.mathematics import hyperbolic
from regard.kernels.cpu.product import multiply
from regard.kernels.cpu.segments import SegmentRoom, room_for

Array = Any


class Panels(NamedTuple):
    """U (3H, H), R (3H, D or O), the score's query weight (A, H) and O (O, H + D), or their transposes, in panels."""

    recurrent: Array
    read: Array
    query: Array
    output: Array


class Kept(NamedTuple):
    """Of all N packed positions: [h; c] side by side, h before the step, the gates, the queries, the weights; and the
    vectors o with what was fed into the step, of no width where nothing is fed back. The marginals of pairs, 4(S − 1),
    of no width but for segments."""

    both: Array
    previous: Array
    gates: Array
    queries: Array
    weights: Array
    vectors: Array
    fed: Array
    pairs: Array


@reduction
def copy(source: Array, target: Array) -> None:
    for j in range(len(source)):
        target[j] = source[j]


@reduction
def bend(vector: Array) -> None:
    for j in range(len(vector)):
        vector[j] = hyperbolic(vector[j])


@part
def _advance_all(
    alive: int, low: int, parts: int, projected: Array, read: Any, panels: Panels, bias: Array,
    state: Array, inputs: Array, recurrent: Array, kept: Kept,
) -> None:  # fmt: skip
    for i in range(alive):
        copy(projected[low + i * parts], inputs[i])
    multiply(alive, read, panels.read, (inputs, 0, 1, 0), True)
    multiply(alive, (state, 0, 1, 0), panels.recurrent, (recurrent, 0, 1, 0), False)
    size = state.shape[1]
    for i in range(alive):
        place = low + i * parts
        advance(
            inputs[i], recurrent[i], bias, state[i],
            kept.previous[place], kept.gates[place], kept.both[place, :size],
        )  # fmt: skip


@part
def _look_all(
    alive: int, first: int, low: int, parts: int, memories: Memories, source: Array, alone: Alone,
    panels: Panels, state: Array, scratch: Array, energies: Array, room: SegmentRoom, kept: Kept,
) -> None:  # fmt: skip
    size = state.shape[1]
    if len(memories.vector) > 0:
        multiply(alive, (state, 0, 1, 0), panels.query, (kept.queries, low, parts, 0), False)
    for i in range(alive):
        place = low + i * parts
        if len(memories.vector) == 0:
            copy(state[i], kept.queries[place])
        alone.chosen[place] = look(
            kept.queries[place], memories, source[first + i * parts], alone.wanted[place], alone.waits[place],
            scratch, energies, room, kept.both[place, size:], kept.weights, kept.pairs, place,
        )  # fmt: skip


@part
def _combine_all(
    alive: int, low: int, parts: int, combined: Array, panels: Panels, following: int, end: int, kept: Kept
) -> None:
    """The vectors o of a step; those of the rows that go on are fed into the step that begins at `following`."""
    for i in range(alive):
        copy(combined[low + i * parts], kept.vectors[low + i * parts])
    multiply(alive, (kept.both, low, parts, 0), panels.output, (kept.vectors, low, parts, 0), True)
    for i in range(alive):
        vector = kept.vectors[low + i * parts]
        bend(vector)
        if following + i * parts < end:
            copy(vector, kept.fed[following + i * parts])


@kernel
def forward(
    c: int, parts: int, current: bool, projected: Array, combined: Array, state: Array,
    memories: Memories, source: Array, alone: Alone, panels: Panels, bias: Array, starts: Array, kept: Kept,
) -> None:  # fmt: skip
    """projected (N, 3H), combined (N, O), state (B, H) the first one, rows longest first; source (B) says which memory
    each of them asks. Part c of the rows are c, c + parts, …, so that all parts are equally long."""
    steps, size = len(starts) - 1, state.shape[1]
    mine = state[c::parts].copy()
    scratches = np.empty((2, len(mine), 3 * size), state.dtype)
    inputs, recurrent = scratches[0], scratches[1]
    scratch = np.empty((2, kept.queries.shape[1]), state.dtype)
    energies = np.empty((1, kept.weights.shape[1]), state.dtype)
    room = room_for(energies.shape[1], state.dtype.type(0))
    for t in range(steps):
        low, high = starts[t] + c, starts[t + 1]
        alive = (high - low + parts - 1) // parts
        if current:
            read = (kept.fed, low, parts, 0)
            _advance_all(alive, low, parts, projected, read, panels, bias, mine, inputs, recurrent, kept)
            _look_all(
                alive, c, low, parts, memories, source, alone, panels, mine, scratch, energies, room, kept
            )
            following, end = (high + c, starts[t + 2]) if t + 1 < steps else (0, 0)
            _combine_all(alive, low, parts, combined, panels, following, end, kept)
        else:
            _look_all(
                alive, c, low, parts, memories, source, alone, panels, mine, scratch, energies, room, kept
            )
            read = (kept.both, low, parts, size)
            _advance_all(alive, low, parts, projected, read, panels, bias, mine, inputs, recurrent, kept)
