"""Steps of a search with a Transformer decoder: few kernels between the products, no copies of keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from regard.fast.cached import CachedState, start
from regard.fast.outputs import OUTPUTS
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.decoders.transformer_layer import DecoderLayer, MemoryAttention
from regard.nn.embedding import EMBEDDINGS
from regard.nn.memory import Memory
from regard.nn.path import LAYERS, Path, Replaces
from regard.nn.transformer_layers import FeedForward, MultiHead, PositionVectors, Residual
from regard.parts import register
from regard.structures.kernels.availability import triton_takes, within_reach

STEPS = ("start", "step", "_embed", "_finish", "_mask", "_layers", "_by_name")
DECODERS = Replaces(TransformerDecoder, methods=STEPS)
BLOCKS = Replaces(DecoderLayer, Residual, MultiHead, MemoryAttention, FeedForward, children=False)
INSIDE = Replaces(nn.LayerNorm, nn.ReLU, PositionVectors)
CHANGED = "The decoder or a layer in it was changed."


@register("path", "cached-step")
class CachedStep(Path):
    """A step of a search with a Transformer decoder: compiled kernels between its products, no copies of keys."""

    serves = "transformer.step"
    rank = 10

    def takes(self, decoder: TransformerDecoder, memories: Mapping[str, Memory]) -> bool:
        if torch.is_grad_enabled() or lacks(decoder, memories):
            return False
        tensors = [decoder.output.weight, *(memories[name].values for name in decoder.names)]
        if tensors[0].is_cuda:
            same = all(one.dtype == torch.float32 for one in tensors)
            return same and triton_takes(tensors[0]) and not torch.is_autocast_enabled("cuda")
        return within_reach(*tensors, rows=len(tensors[1]))

    def why_not(self, decoder: TransformerDecoder, memories: Mapping[str, Memory]) -> str:
        return lacks(decoder, memories)

    def run(self, decoder: TransformerDecoder, memories: Mapping[str, Memory]) -> CachedState:
        return start(decoder, memories)


def lacks(decoder: TransformerDecoder, memories: Mapping[str, Memory]) -> str:
    """Why the kernels cannot compute the steps, on any device; empty if they can."""
    if any(memories[name].override is not None for name in decoder.names):
        return "The attention is overridden."
    around = (decoder.widen, decoder.dropout, decoder.embedding.dropout)
    fine = DECODERS(decoder) and EMBEDDINGS(decoder.embedding) and OUTPUTS(decoder.output) and LAYERS(*around)
    if not (fine and INSIDE(decoder.norm, decoder.positions) and all(map(_as_written, decoder.layers))):
        return CHANGED
    return "The decoder is in training." if decoder.training else ""


def _as_written(layer: Any) -> bool:
    """Whether everything in a layer computes as its class says."""
    if not BLOCKS(layer):
        return False
    sums = (layer.first, layer.second, layer.third)
    if not BLOCKS(layer.itself, layer.over, layer.feed, *sums):
        return False
    simple = (one for part in (layer.itself, layer.over) for one in part.children())
    return (
        LAYERS(*simple, *layer.over.further.values(), layer.feed[0], layer.feed[2], layer.feed[3])
        and LAYERS(*(one.dropout for one in sums))
        and INSIDE(layer.feed[1], *(one.norm for one in sums))
    )
