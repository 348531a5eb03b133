# mypy: disable-error-code="no-any-return, call-arg"
"""The layers of a Transformer encoder in one kernel: each core takes some sources through all layers, some at a time.
Padding is not computed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.cached import (
    add_row,
    added_rows,
    compare_heads,
    normed_rows,
    read_heads,
    rectified_rows,
    softmax,
)
from regard.fast.cpu.product import Target, Window, multiply
from regard.fast.cpu.transformer_step import Norms
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.rows import copy

Array = Any
TOGETHER = 96
"""Positions that go through the layers together: enough for each weight that is read, and few enough for a cache."""


class EncoderPanels(NamedTuple):
    """The weights of L layers in panels and what is added to their products, as `transformer_step.DecoderPanels`.

    distance   (L, H, 2 N + 1) scores of distances from −N to N; (L, H, 0): none
    norms      after the two sums of each layer
    """

    itself: Array
    itself_bias: Array
    distance: Array
    told: Array
    told_bias: Array
    into: Array
    into_bias: Array
    out: Array
    out_bias: Array
    first: Norms
    norms: Norms
    after: bool


class Positions(NamedTuple):
    """N positions of B sources, source after source: source b has those from starts[b] to starts[b + 1].

    x    (N, D) their vectors, overwritten   place (N) their position in the source   out (N, D)
    """

    x: Array
    place: Array
    starts: Array
    out: Array


@part
def _attend(
    low: int,
    first: int,
    end: int,
    heads: int,
    distance: Array,
    bias: Array,
    given: Positions,
    asked: Array,
    read: Array,
) -> None:
    """Every position from the first to the end, of one source, attends to all of them. asked and read are about the
    positions from `low` on; asked has (·, 3 D) queries, keys and values without their bias."""
    size = read.shape[1]
    width, count, far = size // heads, end - first, distance.shape[1] // 2
    scale = asked.dtype.type(width**-0.5)
    energies, places = np.empty(count, asked.dtype), np.empty(count, np.uint64)
    for i in range(first, end):
        add_row(asked[i - low], bias)
    flat, found = asked.reshape(-1), read.reshape(-1)
    for h in range(heads):
        for s in range(count):
            places[s] = np.uint64((first - low + s) * 3 * size + size + h * width)
        for i in range(first, end):
            query = np.uint64((i - low) * 3 * size + h * width)
            compare_heads(flat, query, flat, places, width, scale, energies)
            if distance.shape[1] > 0:
                for s in range(count):
                    apart = given.place[first + s] - given.place[i]
                    energies[s] += distance[h, min(max(apart, -far), far) + far]
            softmax(energies)
            read_heads(
                energies, flat, places, np.uint64(size), width, found, np.uint64((i - low) * size + h * width)
            )


@part
def _layers(low: int, first: int, end: int, heads: int, layers: EncoderPanels, given: Positions) -> None:
    """All layers of the sources from the first to the end, whose positions begin at `low`."""
    count, size = given.starts[end] - low, given.x.shape[1]
    high, kind = low + count, given.x.dtype
    entered, asked = given.out[low:high], np.empty((count, 3 * size), kind)
    read, found = np.empty((count, size), kind), np.empty((count, size), kind)
    x, hidden = given.x[low:high], np.empty((count, layers.into_bias.shape[1]), kind)
    gain, shift, epsilon = layers.norms
    if layers.after:
        for i in range(count):
            copy(x[i], entered[i])
    else:
        normed_rows(
            x, layers.first.gain[0, 0], layers.first.shift[0, 0], layers.first.epsilon[0, 0], entered, 0, count
        )  # fmt: skip
    for layer in range(len(gain)):
        multiply(count, Window(entered, 0, 1, 0), layers.itself[layer], Target(asked, 0, 1, 0, False))
        for b in range(first, end):
            _attend(low, given.starts[b], given.starts[b + 1], heads, layers.distance[layer],
                    layers.itself_bias[layer], given, asked, read)  # fmt: skip
        multiply(count, Window(read, 0, 1, 0), layers.told[layer], Target(found, 0, 1, 0, False))
        added_rows(x, found, layers.told_bias[layer], gain[layer, 0], shift[layer, 0], epsilon[layer, 0],
                   layers.after, entered, 0, count)  # fmt: skip
        multiply(count, Window(entered, 0, 1, 0), layers.into[layer], Target(hidden, 0, 1, 0, False))
        rectified_rows(hidden, layers.into_bias[layer], 0, count)
        multiply(count, Window(hidden, 0, 1, 0), layers.out[layer], Target(found, 0, 1, 0, False))
        added_rows(x, found, layers.out_bias[layer], gain[layer, 1], shift[layer, 1], epsilon[layer, 1],
                   layers.after, entered, 0, count)  # fmt: skip


@kernel
def encode_part(part: int, parts: int, heads: int, layers: EncoderPanels, given: Positions) -> None:
    """All layers of one part of the sources, which has about as many positions as every other."""
    starts = given.starts
    sources, total = len(starts) - 1, starts[-1]
    b = 0
    while b < sources and starts[b] * parts < part * total:
        b += 1
    while b < sources and starts[b] * parts < (part + 1) * total:
        first, low = b, starts[b]
        b += 1
        while b < sources and starts[b] * parts < (part + 1) * total and starts[b + 1] - low <= TOGETHER:
            b += 1
        _layers(low, first, b, heads, layers, given)
