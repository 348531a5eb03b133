"""One step of a search on the CPU for many rows: each core takes some rows from word to logits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.either import multiply_rows, of_layer, panels_in, read_rows
from regard.fast.cpu.forth import bend, gather, scaled
from regard.fast.cpu.gates import advance
from regard.fast.cpu.layout import DOT, Memories
from regard.fast.cpu.location import nearby_for
from regard.fast.cpu.looks import look
from regard.fast.cpu.product import Target, Window, multiply
from regard.fast.cpu.together import (
    BELOW,
    COMBINE,
    QUERY,
    READ,
    RECURRENT,
    WORD,
    Team,
    multiply_together,
    nobody,
)
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.rows import copy
from regard.structures.kernels.cpu.segments import room_for

Array = Any


class Layers(NamedTuple):
    """The weights in panels or as `ByteWeight`, the biases, and the kind of cell.

    kind       the cell, one of `gates`; `residual`: whether a layer above the first adds its input to its
               output   size: H
    word       (G, E), without panels if the inputs contain the words already; read (G, D or O)
    recurrent  (L, …, G, H) and its bias of all layers; below (L − 1, …, G, H) and its bias of the layers above
               the first; the score's query weight (A, H)
    combine    (O, …) from [h; c; e(y)], or its first parts, to the readout; empty if the readout is h
    output     (V, O), its bias (V), and `output_start` (1, P · WIDTH) the same with zeros behind
    """

    kind: int
    residual: bool
    size: int
    word: Array
    read: Array
    recurrent: Array
    recurrent_bias: Array
    below: Array
    below_bias: Array
    query: Array
    combine: Array
    combine_bias: Array
    output: Array
    output_bias: Array
    output_start: Array


class Rows(NamedTuple):
    """The inputs and outputs of one step, for n rows.

    source     (n) the memory that each row attends to
    embedded   (n, E)   inputs (n, G) the gates' inputs besides the word, the read and the state
    fed        (n, O) the last vector, of width 0 without feedback
    state      (L, n, Z) [h; m] or h of each layer, updated   seen (n, H + D + E) [h; c; e(y)]
    looked     (n, S) the weights of the previous step, of width 0 if the score does not use them
    weights    (n, S)
    said       (n, O) the readout: input of the output layer, and fed back   logits (n, V)
    """

    source: Array
    embedded: Array
    inputs: Array
    fed: Array
    state: Array
    seen: Array
    looked: Array
    weights: Array
    said: Array
    logits: Array


@part
def _multiply(
    team: Team, which: int, layer: int, count: int, source: Window, weight: Any, target: Target
) -> None:
    multiply_together(team, which, layer, count, source, read_rows(count, source, weight), weight, target)


@part
def _look_all(
    team: Team, first: int, end: int, alone: bool, asked: Array, layers: Layers, memories: Memories, rows: Rows,
    contexts: Array, column: int,
) -> None:  # fmt: skip
    """Attend. Queries come from asked (n, H or more); contexts go to the columns of an array from `column` on."""
    size, width = layers.size, memories.values.shape[2]
    queries = np.empty((end - first, memories.keys.shape[2]), asked.dtype)
    scratch = np.empty((2, queries.shape[1]), asked.dtype)
    positions = rows.weights.shape[1]
    energies = np.empty((1, positions), asked.dtype)
    pairs = np.empty((1, 4 * max(positions - 1, 0)), asked.dtype)
    nearby = nearby_for(memories.location, positions, queries.shape[1], asked.dtype.type(0))
    room = room_for(positions, asked.dtype.type(0))
    waits = np.ones(rows.weights.shape[1], asked.dtype)
    if memories.score != DOT:
        given, into = Window(asked, first, 1, 0), Target(queries, 0, 1, 0, False)
        _multiply(team, QUERY, 0, end - first, given, layers.query, into)
    for i in range(first, end):
        if memories.score == DOT:
            scaled(asked[i, :size], memories.scale, queries[i - first])
        context = contexts[i, column : column + width]
        look(
            queries[i - first],
            memories,
            rows.source[i],
            rows.looked,
            i,
            alone,
            waits,
            scratch,
            energies,
            nearby,
            room,
            context,
            rows.weights[i : i + 1],
            pairs,
            0,
        )


@part
def _advance_all(team: Team, first: int, end: int, read: Window, layers: Layers, rows: Rows) -> None:
    count, size, gates = end - first, layers.size, rows.inputs.shape[1]
    into = Target(rows.inputs, first, 1, 0, True)
    if panels_in(layers.word) > 0:
        _multiply(team, WORD, 0, count, Window(rows.embedded, first, 1, 0), layers.word, into)
    _multiply(team, READ, 0, count, read, layers.read, into)
    recurrent, below = np.empty((count, gates), rows.state.dtype), np.empty((count, size), rows.state.dtype)
    before, kept = np.empty(size, rows.state.dtype), np.empty(6 * size, rows.state.dtype)
    for layer in range(len(rows.state)):
        if layer > 0:
            for i in range(count):
                copy(rows.seen[first + i, :size], below[i])
                copy(layers.below_bias[layer - 1], rows.inputs[first + i])
            above = of_layer(layers.below, layer - 1)
            _multiply(team, BELOW, layer - 1, count, Window(below, 0, 1, 0), above, into)
        state = rows.state[layer]
        weight = of_layer(layers.recurrent, layer)
        given, made = Window(state, first, 1, 0), Target(recurrent, 0, 1, 0, False)
        _multiply(team, RECURRENT, layer, count, given, weight, made)
        for i in range(first, end):
            advance(
                layers.kind, rows.inputs[i], recurrent[i - first], layers.recurrent_bias[layer],
                state[i, :size], state[i, size:], before, kept, rows.seen[i, :size],
            )  # fmt: skip
            if layer > 0 and layers.residual:
                gather(below[i - first], rows.seen[i, :size])


@part
def _read_out(team: Team, first: int, end: int, bent: bool, folded: bool, layers: Layers, rows: Rows) -> None:
    """The inputs of the output layer, in `said`, which holds the context if it is folded; without `combine` they are
    the first columns of `seen`."""
    given, into = Window(rows.seen, first, 1, 0), Target(rows.said, first, 1, 0, folded)
    _multiply(team, COMBINE, 0, end - first, given, layers.combine, into)
    for i in range(first, end):
        gather(layers.combine_bias, rows.said[i])
        if bent:
            bend(rows.said[i])


@part
def advance_rows(
    team: Team, first: int, end: int, current: bool, bent: bool, alone: bool, folded: bool, layers: Layers,
    memories: Memories, rows: Rows,
) -> Window:  # fmt: skip
    """All of a step up to the output layer, whose inputs are returned, for some of the rows.

    Queries come from the current or the previous state. With `alone`, only the most probable position is read. With
    `bent`, the readout goes through tanh. With `folded`, which needs queries from the current state, the values of the
    memory are already multiplied by their share of `combine`, which multiplies the state alone.
    """
    size, width, embedded = layers.size, memories.values.shape[2], rows.embedded.shape[1]
    if current:
        _advance_all(team, first, end, Window(rows.fed, first, 1, 0), layers, rows)
        contexts, column = (rows.said, 0) if folded else (rows.seen, size)
        _look_all(team, first, end, alone, rows.seen, layers, memories, rows, contexts, column)
    else:
        last = rows.state[len(rows.state) - 1]
        _look_all(team, first, end, alone, last, layers, memories, rows, rows.seen, size)
        _advance_all(team, first, end, Window(rows.seen, first, 1, size), layers, rows)
    if panels_in(layers.combine) == 0:
        return Window(rows.seen, first, 1, 0)
    if not folded:
        for i in range(first, end):
            copy(rows.embedded[i], rows.seen[i, size + width : size + width + embedded])
    _read_out(team, first, end, bent, folded, layers, rows)
    return Window(rows.said, first, 1, 0)


@kernel
def multiply_words(part: int, parts: int, embedding: Array, weight: Array, table: Array) -> None:
    """Add the product of the vectors of some words (V, E) and a weight in panels to their rows of a table, in the order
    in which a step adds it."""
    first, end = part * len(table) // parts, (part + 1) * len(table) // parts
    multiply(end - first, Window(embedding, first, 1, 0), weight, Target(table, first, 1, 0, True))


@kernel
def step_part(
    part: int,
    parts: int,
    current: bool,
    bent: bool,
    alone: bool,
    layers: Layers,
    memories: Memories,
    rows: Rows,
) -> None:
    """One step of one part of the rows, with its logits. See `advance_rows`."""
    count = rows.state.shape[1]
    first, end = part * count // parts, (part + 1) * count // parts
    said = advance_rows(nobody(), first, end, current, bent, alone, False, layers, memories, rows)
    for i in range(first, end):
        copy(layers.output_bias, rows.logits[i])
    given = read_rows(end - first, said, layers.output)
    multiply_rows(end - first, given, layers.output, Target(rows.logits, first, 1, 0, True))
