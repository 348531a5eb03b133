# mypy: disable-error-code="no-any-return, call-arg"
"""One step of a Transformer decoder in two kernels: each core takes some sources from their words' vectors through all
layers, and then some words of the output layer for all sources."""

from __future__ import annotations

from typing import Any, NamedTuple

from regard.fast.cpu.cached import added_rows, memory_rows, normed_rows, rectified_rows, written_rows
from regard.fast.cpu.either import multiply_rows, of_layer, panels_in, read_rows, some_panels
from regard.fast.cpu.product import Target, Window
from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.rows import copy

Array = Any


class Norms(NamedTuple):
    """Normalizations: gain and shift (L, 3, D), epsilon (L, 3)."""

    gain: Array
    shift: Array
    epsilon: Array


class DecoderPanels(NamedTuple):
    """The weights of L layers, in panels or as `ByteWeight`, and what is added to their products.

    itself … out   (L, …), see `layer_weights.LayerWeights`; their biases (L, ·)
    distance       (L, H, N) or (L, H, 0)
    first          (1, 1, D) the normalization before the first layer   norms: those after the sums of each layer
    after          whether a sum is normalized itself, rather than what is read from it
    output         (V, D) and its bias (V)
    """

    itself: Array
    itself_bias: Array
    distance: Array
    told: Array
    told_bias: Array
    over: Array
    over_bias: Array
    read: Array
    read_bias: Array
    into: Array
    into_bias: Array
    out: Array
    out_bias: Array
    first: Norms
    norms: Norms
    after: bool
    output: Array
    output_bias: Array


class Heard(NamedTuple):
    """What the K hypotheses about B sources attend to, see `fast.cached.CachedState`.

    memory   (L, B, S, 2 D)   mask (B, S)
    written  (L, B, T, K', 2 D)   slots (B, K, place) or (1, 0, 0)   place: the position that is written
    """

    memory: Array
    mask: Array
    written: Array
    slots: Array
    place: int


class StepRows(NamedTuple):
    """The rows of a step and room to compute them.

    x        (B K, D) the vectors of the words, overwritten
    entered  (B K, D)   asked (B, K, 3 D)   over (B, K, D)   read (B, K, D)   found (B K, D)   hidden (B K, F)
    looks    (B, K, S) receives the mean weights of the last layer   nothing (B, K, 0)
    logits   (B K, V)
    """

    x: Array
    entered: Array
    asked: Array
    over: Array
    read: Array
    found: Array
    hidden: Array
    looks: Array
    nothing: Array
    logits: Array


@part
def _product(first: int, count: int, given: Array, weight: Any, out: Array) -> None:
    """Write the product of `count` rows from the first on and a weight."""
    rows = read_rows(count, Window(given, first, 1, 0), weight)
    multiply_rows(count, rows, weight, Target(out, first, 1, 0, False))


@part
def _flat(rows: Array) -> Array:
    """(B, K, D) → (B K, D)."""
    return rows.reshape(rows.shape[0] * rows.shape[1], rows.shape[2])


@part
def _sum(
    layer: int, number: int, low: int, count: int, bias: Array, layers: DecoderPanels, rows: StepRows
) -> None:
    """x + found + bias, with its normalization."""
    gain, shift, epsilon = layers.norms
    added_rows(rows.x, rows.found, bias, gain[layer, number], shift[layer, number], epsilon[layer, number],
               layers.after, rows.entered, low, low + count)  # fmt: skip


@part
def _attend(
    layer: int, first: int, end: int, heads: int, layers: DecoderPanels, heard: Heard, rows: StepRows
) -> None:
    """Both attentions of a layer for some sources, with the sums after them."""
    hypotheses, size = rows.over.shape[1], rows.over.shape[2]
    low, count = first * hypotheses, (end - first) * hypotheses
    scale = rows.x.dtype.type((size // heads) ** -0.5)
    _product(low, count, rows.entered, of_layer(layers.itself, layer), _flat(rows.asked))
    written_rows(
        rows.asked, layers.itself_bias[layer], heard.written[layer], heard.slots, heard.place,
        layers.distance[layer], scale, heads, rows.read, first, end,
    )  # fmt: skip
    _product(low, count, _flat(rows.read), of_layer(layers.told, layer), rows.found)
    _sum(layer, 0, low, count, layers.told_bias[layer], layers, rows)
    _product(low, count, rows.entered, of_layer(layers.over, layer), _flat(rows.over))
    memory_rows(
        rows.over, layers.over_bias[layer], heard.memory[layer], heard.mask, scale, heads, rows.read,
        rows.looks if layer + 1 == len(heard.memory) else rows.nothing, first, end,
    )  # fmt: skip
    _product(low, count, _flat(rows.read), of_layer(layers.read, layer), rows.found)
    _sum(layer, 1, low, count, layers.read_bias[layer], layers, rows)


@kernel
def transformer_part(
    part: int, parts: int, heads: int, layers: DecoderPanels, heard: Heard, rows: StepRows
) -> None:
    """All layers for one part of the sources."""
    sources, hypotheses, _ = rows.over.shape
    first, end = part * sources // parts, (part + 1) * sources // parts
    low, count, depth = first * hypotheses, (end - first) * hypotheses, len(heard.memory)
    if layers.after:
        for i in range(low, low + count):
            copy(rows.x[i], rows.entered[i])
    else:
        gain, shift, epsilon = layers.first
        normed_rows(rows.x, gain[0, 0], shift[0, 0], epsilon[0, 0], rows.entered, low, low + count)
    for layer in range(depth):
        _attend(layer, first, end, heads, layers, heard, rows)
        _product(low, count, rows.entered, of_layer(layers.into, layer), rows.hidden)
        rectified_rows(rows.hidden, layers.into_bias[layer], low, low + count)
        _product(low, count, rows.hidden, of_layer(layers.out, layer), rows.found)
        _sum(layer, 2, low, count, layers.out_bias[layer], layers, rows)


@kernel
def output_part(part: int, parts: int, layers: DecoderPanels, rows: StepRows) -> None:
    """The logits of all rows for one part of the words: a core reads its own weights, and no others."""
    panels, count = panels_in(layers.output), len(rows.entered)
    first, end = part * panels // parts, (part + 1) * panels // parts
    low, high = first * WIDTH, min(end * WIDTH, rows.logits.shape[1])
    for i in range(count):
        copy(layers.output_bias[low:high], rows.logits[i, low:high])
    given = read_rows(count, Window(rows.entered, 0, 1, 0), layers.output)
    some = some_panels(layers.output, first, end)
    multiply_rows(count, given, some, Target(rows.logits[:, :high], 0, 1, low, True))
