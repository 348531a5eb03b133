"""Forward pass of `attentive`: runs some rows from the first step to the last."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.gates import advance
from regard.fast.cpu.layout import DOT, Memories
from regard.fast.cpu.location import nearby_for
from regard.fast.cpu.looks import Alone, look
from regard.fast.cpu.product import Target, Window, multiply
from regard.structures.kernels.cpu.compilation import kernel, part, reduction
from regard.structures.kernels.cpu.mathematics import hyperbolic
from regard.structures.kernels.cpu.rows import copy
from regard.structures.kernels.cpu.segments import room_for

Array = Any


class Panels(NamedTuple):
    """Weights in panels, or their transposes: U (L, …, G, H) of the L layers, W (L − 1, …, G, H) of the
    layers above the first, R (G, D or O), the score's query weight (A, H), and O (O, H + D)."""

    recurrent: Array
    below: Array
    read: Array
    query: Array
    output: Array


class Biases(NamedTuple):
    """c (L, G) of U h + c, and b (L − 1, G) of W x + b of the layers above the first."""

    recurrent: Array
    below: Array


class Between(NamedTuple):
    """Between layers: residual connections, and dropout masks (L − 1, N, H), empty without dropout."""

    residual: bool
    masks: Array


class Kept(NamedTuple):
    """Values of all N packed positions, kept for the backward pass.

    both       (N, H + D) [h; c]
    previous   (L, N, H) h before the step
    gates      (L, N, …) see `gates`
    below      (L − 1, N, H) inputs of the layers above the first
    queries    (N, A)
    weights    (N, S)
    vectors    (N, O) the vectors o, of width 0 without feedback
    fed        (N, O) the vectors that are fed into the step
    pairs      (N, 4(S − 1)) pair marginals, of width 0 except for segments
    """

    both: Array
    previous: Array
    gates: Array
    below: Array
    queries: Array
    weights: Array
    vectors: Array
    fed: Array
    pairs: Array


@reduction
def scaled(source: Array, factor: Any, target: Array) -> None:
    for j in range(len(source)):
        target[j] = factor * source[j]


@reduction
def gather(more: Array, total: Array) -> None:
    for j in range(len(total)):
        total[j] += more[j]


@reduction
def masked(row: Array, mask: Array) -> None:
    for j in range(len(row)):
        row[j] *= mask[j]


@reduction
def bend(vector: Array) -> None:
    for j in range(len(vector)):
        vector[j] = hyperbolic(vector[j])


@part
def _advance_all(
    alive: int, low: int, parts: int, kind: int, projected: Array, read: Window, panels: Panels, biases: Biases,
    between: Between, state: Array, carry: Array, inputs: Array, recurrent: Array, kept: Kept,
) -> None:  # fmt: skip
    layers, size = state.shape[0], state.shape[2]
    for i in range(alive):
        copy(projected[low + i * parts], inputs[i])
    multiply(alive, read, panels.read, Target(inputs, 0, 1, 0, True))
    for layer in range(layers):
        if layer > 0:
            _go_up(alive, low, parts, layer - 1, between, kept)
            for i in range(alive):
                copy(biases.below[layer - 1], inputs[i])
            below = Window(kept.below[layer - 1], low, parts, 0)
            multiply(alive, below, panels.below[layer - 1], Target(inputs, 0, 1, 0, True))
        multiply(
            alive, Window(state[layer], 0, 1, 0), panels.recurrent[layer], Target(recurrent, 0, 1, 0, False)
        )
        for i in range(alive):
            place = low + i * parts
            advance(
                kind, inputs[i], recurrent[i], biases.recurrent[layer], state[layer, i], carry[layer, i],
                kept.previous[layer, place], kept.gates[layer, place], kept.both[place, :size],
            )  # fmt: skip
            if layer > 0 and between.residual:
                gather(kept.below[layer - 1, place], kept.both[place, :size])


@part
def _go_up(alive: int, low: int, parts: int, layer: int, between: Between, kept: Kept) -> None:
    """The input of the next layer: the output of this one, after dropout."""
    size = kept.below.shape[2]
    for i in range(alive):
        place = low + i * parts
        copy(kept.both[place, :size], kept.below[layer, place])
        if len(between.masks) > 0:
            masked(kept.below[layer, place], between.masks[layer, place])


@part
def _look_all(
    alive: int, first: int, low: int, before: int, parts: int, memories: Memories, source: Array, alone: Alone,
    panels: Panels, asked: Window, scratch: Array, energies: Array, nearby: Any, room: Any, kept: Kept,
) -> None:  # fmt: skip
    """asked: the states from which the queries are made; before: start of the previous step, or −1"""
    states, start, step, _ = asked
    size = kept.previous.shape[2]
    if memories.score != DOT:
        multiply(alive, asked, panels.query, Target(kept.queries, low, parts, 0, False))
    for i in range(alive):
        place = low + i * parts
        if memories.score == DOT:
            scaled(states[start + i * step, :size], memories.scale, kept.queries[place])
        alone.chosen[place] = look(
            kept.queries[place], memories, source[first + i * parts],
            kept.weights, before + i * parts if before >= 0 else -1, alone.wanted[place], alone.waits[place],
            scratch, energies, nearby, room, kept.both[place, size:], kept.weights, kept.pairs, place,
        )  # fmt: skip


@part
def _combine_all(
    alive: int, low: int, parts: int, combined: Array, panels: Panels, following: int, end: int, kept: Kept
) -> None:
    """The vectors o of a step. Those of continuing rows are fed into the step that begins at `following`."""
    for i in range(alive):
        copy(combined[low + i * parts], kept.vectors[low + i * parts])
    multiply(
        alive, Window(kept.both, low, parts, 0), panels.output, Target(kept.vectors, low, parts, 0, True)
    )
    for i in range(alive):
        vector = kept.vectors[low + i * parts]
        bend(vector)
        if following + i * parts < end:
            copy(vector, kept.fed[following + i * parts])


@kernel
def forward(
    c: int, parts: int, kind: int, current: bool, projected: Array, combined: Array, state: Array,
    memories: Memories, source: Array, alone: Alone, panels: Panels, biases: Biases, between: Between,
    starts: Array, kept: Kept,
) -> None:  # fmt: skip
    """projected (N, G), combined (N, O), state (L, B, Z) the first states, [h; m] or h, rows longest first;
    source (B) is the memory that each row attends to. Part c takes the rows c, c + parts, …, so that all
    parts have similar lengths."""
    steps, size, top = len(starts) - 1, kept.previous.shape[2], len(state) - 1
    mine, carry = state[:, c::parts, :size].copy(), state[:, c::parts, size:].copy()
    inputs = np.empty((mine.shape[1], projected.shape[1]), state.dtype)
    recurrent = np.empty_like(inputs)
    scratch = np.empty((2, kept.queries.shape[1]), state.dtype)
    energies = np.empty((1, kept.weights.shape[1]), state.dtype)
    zero = state.dtype.type(0)
    nearby = nearby_for(memories.location, energies.shape[1], scratch.shape[1], zero)
    room = room_for(energies.shape[1], zero)
    for t in range(steps):
        low, high = starts[t] + c, starts[t + 1]
        before = starts[t - 1] + c if t > 0 else -1
        alive = (high - low + parts - 1) // parts
        if current:
            read = Window(kept.fed, low, parts, 0)
            _advance_all(
                alive, low, parts, kind, projected, read, panels, biases, between, mine, carry, inputs, recurrent, kept
            )  # fmt: skip
            _look_all(
                alive, c, low, before, parts, memories, source, alone, panels, Window(kept.both, low, parts, 0),
                scratch, energies, nearby, room, kept,
            )  # fmt: skip
            following, end = (high + c, starts[t + 2]) if t + 1 < steps else (0, 0)
            _combine_all(alive, low, parts, combined, panels, following, end, kept)
        else:
            _look_all(
                alive, c, low, before, parts, memories, source, alone, panels, Window(mine[top], 0, 1, 0),
                scratch, energies, nearby, room, kept,
            )  # fmt: skip
            read = Window(kept.both, low, parts, size)
            _advance_all(
                alive, low, parts, kind, projected, read, panels, biases, between, mine, carry, inputs, recurrent, kept
            )  # fmt: skip
