"""Heads, feed-forward networks and positions of Transformers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.decoders.stream_transformer import StreamTransformer
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.transformer_layers import FeedForward, MultiHead
from regard.testing.board import Family
from tests.describe.bindings.cells import Binding

PLACES = 64


def of_start(module: Any, mark: str) -> Binding:
    """Positional encodings, and the projection of embeddings to the model's width."""
    table = module.positions.learned if module.positions.kind == "learned" else None
    found = {f"P_{mark}": module.positions(torch.arange(PLACES)) if table is None else table}
    if module.widen is not None:
        found |= {f"W_{mark}": module.widen.weight, f"b_{mark}": module.widen.bias}
    return found


def of_layer_norm(norm: nn.LayerNorm, below: str) -> Binding:
    return {f"g_{{{below}}}": norm.weight, f"b_{{{below}}}": norm.bias}


def of_heads(heads: MultiHead, mark: str, number: int) -> Binding:
    """mark: subscript of the weights before layer and head."""
    below = f"{mark},{number}".lstrip(",")
    found: Binding = {f"O_{{{below}}}": heads.output.weight, f"b_{{O,{below}}}": heads.output.bias}
    for letter, layer in (("Q", heads.query), ("K", heads.key), ("V", heads.value)):
        found |= by_head(letter, below, layer.weight, layer.bias, heads.heads)
    if heads.distances is not None:
        found |= {f"D_{{{below},{head}}}": table for head, table in enumerate(heads.distance, start=1)}
    return found


def by_head(letter: str, below: str, weight: Tensor, bias: Tensor, heads: int) -> Binding:
    found = {}
    for head, (rows, numbers) in enumerate(zip(weight.chunk(heads), bias.chunk(heads), strict=True), start=1):
        found[f"{letter}_{{{below},{head}}}"] = rows
        found[f"b_{{{letter},{below},{head}}}"] = numbers
    return found


def of_feed(feed: FeedForward, mark: str, number: int) -> Binding:
    found: Binding = {}
    below = f"{mark},{number}".lstrip(",")
    for letter, layer in (("A", feed[0]), ("B", feed[3])):
        found |= {f"{letter}_{{{below}}}": layer.weight, f"b_{{{letter},{below}}}": layer.bias}
    return found


def rotations(size: int) -> Tensor:
    """(PLACES, d, d): from position 1 on, the matrices that turn pairs of features."""
    found = torch.eye(size).double().repeat(PLACES, 1, 1)
    for pair in range(size // 2):
        angles = torch.arange(1, PLACES + 1).double() / 10000 ** (2 * pair / size)
        low, high = 2 * pair, 2 * pair + 1
        found[:, low, low], found[:, high, high] = angles.cos(), angles.cos()
        found[:, high, low], found[:, low, high] = angles.sin(), -angles.sin()
    return found


def of_stream_layers(decoder: StreamTransformer) -> Binding:
    layers: list[Any] = list(decoder.layers)
    found: Binding = {"R": Family(rotations(decoder.size // decoder.heads), (1,))}
    if decoder.widen is not None:
        found |= {"W_s": decoder.widen.weight, "b_s": decoder.widen.bias}
    for number, layer in enumerate(layers, start=1):
        found |= of_heads(layer.itself, "y", number) | of_feed(layer.feed, "y", number)
        for step, residual in enumerate((layer.first, layer.second), start=1):
            found |= of_layer_norm(residual.norm, f"y,{step},{number}")
    if decoder.norm is not None:
        found |= {"g_y": decoder.norm.weight, "c_y": decoder.norm.bias}
    return found


def of_decoder_layers(decoder: TransformerDecoder) -> Binding:
    found = of_start(decoder, "s")
    layers: list[Any] = list(decoder.layers)
    for number, layer in enumerate(layers, start=1):
        found |= of_heads(layer.itself, "y", number) | of_heads(layer.over, "a", number)
        for place, further in enumerate(layer.over.further.values(), start=1):
            below = f"a{'′' * place},{number}"
            keys, values = further.weight.chunk(2), further.bias.chunk(2)
            for letter, weight, bias in zip("KV", keys, values, strict=True):
                found |= by_head(letter, below, weight, bias, layer.over.heads)
        found |= of_feed(layer.feed, "y", number)
        for step, residual in enumerate((layer.first, layer.second, layer.third), start=1):
            found |= of_layer_norm(residual.norm, f"y,{step},{number}")
    if decoder.norm is not None:
        found |= {"g_y": decoder.norm.weight, "c_y": decoder.norm.bias}
    return found
