"""The layers of a trained Transformer encoder on the CPU: one kernel for all, without the padding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.fast.kept import LaidOut, begin_comparing, meanwhile
from regard.fast.laid_layers import laid_norms, laid_products, stacked_arrays
from regard.fast.layer_weights import norm_of, product_of, together
from regard.nn.encoders.transformer import EncoderLayer, TransformerEncoder
from regard.nn.path import LAYERS, Path, Replaces
from regard.nn.transformer_layers import FeedForward, MultiHead, Residual
from regard.parts import register
from regard.structures.kernels.availability import within_reach

ENCODERS = Replaces(TransformerEncoder, methods=("through",))
BLOCKS = Replaces(EncoderLayer, Residual, MultiHead, FeedForward, children=False)
INSIDE = Replaces(nn.LayerNorm, nn.ReLU)


@register("path", "transformer-layers-cpu")
class TransformerLayersOnCPU(Path):
    """All layers of a trained Transformer encoder in one compiled kernel for the CPU, without padding."""

    serves = "transformer.layers"
    devices = ("cpu",)
    rank = 10

    def takes(self, owner: Any, x: tuple[Tensor, Tensor | None], *looked_at: Any) -> bool:
        return (
            not torch.is_grad_enabled() and not lacks(owner) and within_reach(x[0], rows=len(x[0]))
        )  # fmt: skip

    def why_not(self, owner: Any, x: tuple[Tensor, Tensor | None], *looked_at: Any) -> str:
        return lacks(owner)

    def run(self, owner: Any, x: tuple[Tensor, Tensor | None], *looked_at: Any) -> Tensor:
        given, mask = x
        assert mask is not None
        return meanwhile(lambda: encoded(owner, given, mask.flatten(1)))


def lacks(owner: Any) -> str:
    """Why the kernel cannot compute the layers; empty if it can."""
    if ENCODERS.kind(owner) is None:
        return "Only the layers of Transformer encoders have such a kernel, and their methods as they are."
    if owner.training:
        return "The encoder is in training."
    return "" if INSIDE(owner.norm) and all(map(_as_written, owner.layers)) else "A layer was changed."


def _as_written(layer: Any) -> bool:
    """Whether everything in a layer computes as its class says."""
    if not BLOCKS(layer) or not BLOCKS(layer.attention, layer.attended, layer.feed, layer.fed):
        return False
    sums = (layer.attended, layer.fed)
    return (
        LAYERS(*layer.attention.children(), layer.feed[0], layer.feed[2], layer.feed[3])
        and LAYERS(*(one.dropout for one in sums))
        and INSIDE(layer.feed[1], *(one.norm for one in sums))
    )


def _read_from(encoder: Any) -> list[Tensor]:
    return [*encoder.layers.parameters(), *([] if encoder.norm is None else encoder.norm.parameters())]


WEIGHTS = LaidOut(_read_from)


def in_panels(encoder: Any) -> Any:
    """The weights of an encoder as the kernel reads them."""
    from regard.fast.cpu.layout import stacked_panels
    from regard.fast.cpu.transformer_layers import EncoderPanels

    layers = list(encoder.layers)
    products = {
        "itself": [together(one.attention.query, one.attention.key, one.attention.value) for one in layers],
        "told": [product_of(one.attention.output) for one in layers],
        "into": [product_of(one.feed[0]) for one in layers],
        "out": [product_of(one.feed[3]) for one in layers],
    }
    laid: dict[str, Any] = {}
    for name, each in products.items():
        laid |= laid_products(name, each, stacked_panels)
    before = [norm_of(one.attended.norm) for one in layers]
    between = [norm_of(one.fed.norm) for one in layers]
    after = before if encoder.norm is None else [*before[1:], norm_of(encoder.norm)]
    pairs = zip(before, between, strict=True) if encoder.norm is None else zip(between, after, strict=True)
    return EncoderPanels(
        **laid,
        distance=stacked_arrays([_distance(one.attention) for one in layers]),
        first=laid_norms([before[:1]]),
        norms=laid_norms([list(pair) for pair in pairs]),
        after=encoder.norm is None,
    )


def _distance(attention: Any) -> Tensor:
    none: Tensor = attention.query.weight.new_empty(attention.heads, 0)
    return none if attention.distances is None else attention.distance.detach()


@torch.no_grad()
def encoded(encoder: Any, x: Tensor, mask: Tensor) -> Tensor:
    """`encoder.through`, with zeros as padding: x (B, S, D), mask (B, S)."""
    from regard.fast.cpu.transformer_layers import Positions, encode_part
    from regard.structures.kernels.cpu.parallel import shares, side_by_side

    WEIGHTS.compare(encoder)
    rows, places = mask.nonzero(as_tuple=True)
    starts = torch.nn.functional.pad(mask.sum(1).cumsum(0), (1, 0))
    given = x[rows, places]
    out = torch.empty_like(given)
    positions = Positions(given.numpy(), places.numpy(), starts.numpy(), out.numpy())
    parts = min(len(mask), shares(len(given)))
    heads = encoder.layers[0].attention.heads
    laid = WEIGHTS.of(encoder, in_panels)
    begin_comparing()
    side_by_side(encode_part, parts, heads, laid, positions)
    found = torch.zeros_like(x)
    found[rows, places] = out
    return found
