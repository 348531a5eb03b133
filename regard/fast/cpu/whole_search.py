"""What a search in one kernel is given: the first states, the limits, and rows to compute with.

Each thread searches for sources of its own, from the first step to the last, and waits for nobody. A source that is
finished leaves at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.layout import Memories
from regard.fast.cpu.step import Layers, Rows
from regard.structures.kernels.cpu.compilation import part
from regard.structures.kernels.cpu.rows import copy

Array = Any


class How(NamedTuple):
    """How a step is computed: see `step.advance_rows`; `feeds`: whether the readout is an input of the next step."""

    current: bool
    bent: bool
    alone: bool
    folded: bool
    feeds: bool


class SearchStart(NamedTuple):
    """The search before its first step, for B sources.

    embedding   (V, E)   words (V, G) what each word adds to the gates' inputs, with their bias; or (1, G) their bias
                alone   projected (B, G) what each source adds to them, or (0, G)
    state       (L, B, Z)   looked (B, S) as in `Rows`; of width 0 if the score does not use them
    said        width of the readout
    fed         width of the vector that is fed back, zeros at first
    """

    embedding: Array
    words: Array
    projected: Array
    state: Array
    looked: Array
    said: int
    fed: int


class Allowed(NamedTuple):
    """The limits of a search, as `Bounds`.

    last        (B) the step at which only `end` is allowed; `steps` in all
    forbidden   words that are never written, and `end` as the last of them, which is allowed from step `minimum` on
    prefix      (B, P) with which an output begins, `lengths` (B)
    after       (Q, V) the table of a constraint: the state after each word; (0, V): there is none
    needed      (Q) the words that a state still needs   missing (Q) those of its banks; of width 0 if it has none
    """

    begin: int
    end: int
    steps: int
    minimum: int
    last: Array
    forbidden: Array
    prefix: Array
    lengths: Array
    after: Array
    needed: Array
    missing: Array


@part
def forbidden_at(step: int, allowed: Allowed) -> Array:
    return allowed.forbidden[: len(allowed.forbidden) - (1 if step >= allowed.minimum else 0)]


@part
def only_word(source: int, step: int, allowed: Allowed) -> int:
    """The only word that a source may write at a step; −1: any."""
    if step >= allowed.last[source]:
        return allowed.end
    if step < allowed.lengths[source]:
        return int(allowed.prefix[source, step])
    return -1


@part
def rows_for(count: int, layers: Layers, memories: Memories, start: SearchStart) -> Rows:
    kind = start.state.dtype
    size, width, positions = layers.size, memories.values.shape[2], memories.values.shape[1]
    embedded = start.embedding.shape[1]
    return Rows(
        np.empty(count, np.int64),
        np.empty((count, embedded), kind),
        np.empty((count, start.words.shape[1]), kind),
        np.zeros((count, start.fed), kind),
        np.empty((start.state.shape[0], count, start.state.shape[2]), kind),
        np.empty((count, size + width + embedded), kind),
        np.empty((count, start.looked.shape[1]), kind),
        np.empty((count, positions), kind),
        np.empty((count, start.said), kind),
        np.empty((0, 0), kind),
    )


@part
def place(i: int, source: int, start: SearchStart, rows: Rows) -> None:
    """Begin the search of a source in row i."""
    rows.source[i] = source
    for layer in range(len(rows.state)):
        copy(start.state[layer, source], rows.state[layer, i])
    copy(start.looked[source], rows.looked[i])


@part
def read_word(i: int, word: int, start: SearchStart, rows: Rows) -> None:
    """The inputs of row i, which has written this word."""
    copy(start.embedding[word], rows.embedded[i])
    copy(start.words[word if len(start.words) > 1 else 0], rows.inputs[i])
    if len(start.projected) > 0:
        shared = start.projected[rows.source[i]]
        for j in range(len(shared)):
            rows.inputs[i, j] += shared[j]


@part
def move(i: int, given: Rows, j: int, rows: Rows, feeds: bool) -> None:
    """Row j continues row i, whose step is done."""
    rows.source[j] = given.source[i]
    for layer in range(len(rows.state)):
        copy(given.state[layer, i], rows.state[layer, j])
    if feeds:
        copy(given.said[i], rows.fed[j])
    if rows.looked.shape[1] > 0:
        copy(given.weights[i], rows.looked[j])
