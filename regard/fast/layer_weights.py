"""The weights of the layers of a Transformer decoder in the layout of its steps, once for each decoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn


class Product(NamedTuple):
    """W (O, I) and b (O)."""

    weight: Tensor
    bias: Tensor


class Normalization(NamedTuple):
    gain: Tensor
    shift: Tensor
    epsilon: float


class LayerWeights(NamedTuple):
    """A layer in the order of its computation; `norms` are those that follow its three sums.

    itself    of queries, keys and values of the tokens, (3 D, D)
    distance  (H, N), or (H, 0)
    memory    by name, of keys and values of a memory, (2 D, its size)
    """

    itself: Product
    distance: Tensor
    told: Product
    memory: Mapping[str, Product]
    over: Product
    read: Product
    into: Product
    out: Product
    norms: Sequence[Normalization]


class Laid(NamedTuple):
    """The weights of a decoder, and the versions of the parameters that were joined."""

    layers: list[LayerWeights]
    versions: tuple[Any, ...]


_LAID: WeakKeyDictionary[nn.Module, Laid] = WeakKeyDictionary()


@torch.no_grad()
def weights_of(decoder: Any, *, known: bool = False) -> list[LayerWeights]:
    """The weights of all layers. Joined ones are updated in place if a parameter changed, because recordings read them.

    known   whether the decoder has been asked for in this search
    """
    kept = _LAID.get(decoder)
    if known and kept is not None:
        return kept.layers
    versions = tuple((one.data_ptr(), one._version, one.shape) for one in decoder.parameters())
    if kept is None or versions != kept.versions:
        layers = list(laid_out(decoder))
        if kept is not None and _alike(kept.layers, layers):
            for old, new in zip(_joined(kept.layers), _joined(layers), strict=True):
                old.copy_(new)
            pairs = zip(layers, kept.layers, strict=True)
            layers = [new._replace(itself=old.itself, memory=old.memory) for new, old in pairs]
        kept = _LAID[decoder] = Laid(layers, versions)
    return kept.layers


def _joined(layers: Sequence[LayerWeights]) -> list[Tensor]:
    return [part for layer in layers for one in (layer.itself, *layer.memory.values()) for part in one]


def _alike(some: Sequence[LayerWeights], others: Sequence[LayerWeights]) -> bool:
    kinds = [[(one.shape, one.dtype, one.device) for one in _joined(layers)] for layers in (some, others)]
    return kinds[0] == kinds[1]


def laid_out(decoder: Any) -> Iterator[LayerWeights]:
    """The weights of all layers of a decoder as they are now."""
    layers = list(decoder.layers)
    for number, layer in enumerate(layers):
        itself, over = layer.itself, layer.over
        names = [layer.first.norm, layer.second.norm, layer.third.norm]
        if decoder.norm is not None:
            names = [*names[1:], layers[number + 1].first.norm if number + 1 < len(layers) else decoder.norm]
        weight = itself.query.weight
        yield LayerWeights(
            together(itself.query, itself.key, itself.value),
            weight.new_empty(itself.heads, 0) if itself.distances is None else itself.distance.detach(),
            product_of(itself.output),
            {
                over.names[0]: together(over.key, over.value),
                **{name: _copied(one) for name, one in over.further.items()},
            },
            product_of(over.query),
            product_of(over.output),
            product_of(layer.feed[0]),
            product_of(layer.feed[3]),
            [norm_of(one) for one in names],
        )


def together(*layers: nn.Linear) -> Product:
    """Products of the same rows as one."""
    return Product(torch.cat([one.weight for one in layers]), torch.cat([one.bias for one in layers]))


def product_of(layer: nn.Linear) -> Product:
    return Product(layer.weight.detach(), layer.bias.detach())


def _copied(layer: nn.Linear) -> Product:
    return Product(layer.weight.detach().clone(), layer.bias.detach().clone())


def norm_of(layer: Any) -> Normalization:
    return Normalization(layer.weight.detach(), layer.bias.detach(), layer.eps)
