"""A step of `cached` on CUDA: products, and between two of them one kernel, which computes an attention with its bias,
a sum with its normalization, or the rectifier."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.fast.cuda.cached import CUDA
from regard.fast.layer_weights import norm_of, weights_of


def advance_on_cuda(decoder: Any, x: Tensor, state: Any, count: int) -> tuple[Tensor, Tensor]:
    """See `cached.Advance`."""
    heads, after, looks = decoder.layers[0].itself.heads, decoder.norm is None, None
    layers, shape = weights_of(decoder, known=True), (len(state.mask), count, -1)
    entered = x if after else CUDA.normed(x, norm_of(decoder.layers[0].first.norm))
    for number, layer in enumerate(layers):
        asked = entered @ layer.itself.weight.t()
        read = CUDA.written(
            asked.view(shape), layer.itself.bias, state.written[number], state.slots, state.position,
            layer.distance, heads,
        )  # fmt: skip
        x, entered = CUDA.added(x, read @ layer.told.weight.t(), layer.told.bias, layer.norms[0], after)
        asked = (entered @ layer.over.weight.t()).view(shape)
        last = number + 1 == len(layers)
        read, looks = CUDA.memory(asked, layer.over.bias, state.memory[number], state.mask, heads, last)
        x, entered = CUDA.added(x, read @ layer.read.weight.t(), layer.read.bias, layer.norms[1], after)
        hidden = CUDA.rectified(entered @ layer.into.weight.t(), layer.into.bias)
        x, entered = CUDA.added(x, hidden @ layer.out.weight.t(), layer.out.bias, layer.norms[2], after)
    assert looks is not None
    return decoder.output(entered.view(shape)), looks
