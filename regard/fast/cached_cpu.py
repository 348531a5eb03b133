"""A step of `cached` on the CPU: one kernel, from the vectors of the words to the logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.fast.kept import LaidOut, begin_comparing
from regard.fast.laid_layers import laid_norms, laid_products, stacked_arrays
from regard.fast.layer_weights import LayerWeights, laid_out, norm_of

NONE = torch.empty(1, 0, 0, dtype=torch.int64)
WORTH = 2**21
"""Bytes of the output layer that are worth another thread, if there are few rows."""
PRODUCTS = ("itself", "told", "over", "read", "into", "out")
"""The products of a layer, see `LayerWeights`."""


def _read_from(decoder: Any) -> list[Tensor]:
    """The parameters of which the step reads copies."""
    norms = [] if decoder.norm is None else [*decoder.norm.parameters()]
    return [*decoder.layers.parameters(), *norms, decoder.output.weight, decoder.output.bias]


WEIGHTS = LaidOut(_read_from)


def known_layers(decoder: Any) -> list[LayerWeights]:
    """The weights of the layers of a decoder, at the beginning of a search."""
    WEIGHTS.compare(decoder)
    begin_comparing()
    return WEIGHTS.of(decoder, _layers)


def _layers(decoder: Any) -> list[LayerWeights]:
    return list(laid_out(decoder))


def in_panels(decoder: Any) -> Any:
    """The weights of a decoder as its steps read them in single or double precision."""
    from regard.fast.cpu.layout import panels, stacked_panels

    return _lay_out(decoder, stacked_panels, lambda weight: panels(weight).copy())


def in_bytes(decoder: Any) -> Any:
    """The same for steps in int8."""
    from regard.fast.cpu.bytes import byte_panels, stacked_bytes

    return _lay_out(decoder, stacked_bytes, byte_panels)


def _lay_out(decoder: Any, stacked: Callable[[Tensor], Any], one: Callable[[Tensor], Any]) -> Any:
    from regard.fast.cpu.transformer_step import DecoderPanels

    layers, output = WEIGHTS.of(decoder, _layers), decoder.output
    found: dict[str, Any] = {}
    for name in PRODUCTS:
        found |= laid_products(name, [getattr(layer, name) for layer in layers], stacked)
    after = decoder.norm is None
    first = layers[0].norms[0] if after else norm_of(decoder.layers[0].first.norm)
    return DecoderPanels(
        **found,
        distance=stacked_arrays([layer.distance for layer in layers]),
        first=laid_norms([[first]]),
        norms=laid_norms([layer.norms for layer in layers]),
        after=after,
        output=one(output.weight),
        output_bias=output.bias.detach().numpy().copy(),
    )


def advance_on_cpu(decoder: Any, x: Tensor, state: Any, count: int) -> tuple[Tensor, Tensor]:
    """See `cached.Advance`."""
    from regard.fast.cpu.transformer_step import Heard, output_part, transformer_part
    from regard.structures.kernels.cpu.parallel import shares, side_by_side

    in_int8 = state.precision == "int8"
    laid = WEIGHTS.of(decoder, in_bytes if in_int8 else in_panels)
    (sources, positions), (rows, size) = state.mask.shape, x.shape
    looks, logits = x.new_empty(sources, count, positions), x.new_empty(rows, len(laid.output_bias))
    room = _room(x, laid, looks, logits)
    slots = NONE if state.slots is None else state.slots.contiguous()
    heard = Heard(
        state.memory.numpy(), state.mask.numpy(), state.written.numpy(), slots.numpy(), state.position
    )
    heads = decoder.layers[0].itself.heads
    side_by_side(transformer_part, min(sources, shares(rows)), heads, laid, heard, room)
    read = logits.shape[1] * size * (1 if in_int8 else x.element_size())
    parts = min(torch.get_num_threads(), max(shares(rows), read // WORTH))
    side_by_side(output_part, parts, laid, room)
    return logits.view(sources, count, -1), looks


def _room(x: Tensor, laid: Any, looks: Tensor, logits: Tensor) -> Any:
    """The rows of a step, see `regard.fast.cpu.transformer_step.StepRows`."""
    from regard.fast.cpu.transformer_step import StepRows

    (sources, count, _), (rows, size) = looks.shape, x.shape
    return StepRows(
        x=x.numpy(),
        entered=x.new_empty(rows, size).numpy(),
        asked=x.new_empty(sources, count, 3 * size).numpy(),
        over=x.new_empty(sources, count, size).numpy(),
        read=x.new_empty(sources, count, size).numpy(),
        found=x.new_empty(rows, size).numpy(),
        hidden=x.new_empty(rows, laid.into_bias.shape[1]).numpy(),
        looks=looks.numpy(),
        nothing=looks[..., :0].numpy(),
        logits=logits.numpy(),
    )
