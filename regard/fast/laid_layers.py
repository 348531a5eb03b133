"""The weights of all layers of a Transformer together, as the kernels of the CPU read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.fast.layer_weights import Normalization, Product


def laid_products(name: str, products: Sequence[Product], stacked: Callable[[Tensor], Any]) -> dict[str, Any]:
    """The same product of every layer, with its bias, by name."""
    weights = torch.stack([product.weight for product in products])
    return {name: stacked(weights), f"{name}_bias": stacked_arrays([product.bias for product in products])}


def laid_norms(norms: Sequence[Sequence[Normalization]]) -> Any:
    """The normalizations of every layer, see `regard.fast.cpu.transformer_step.Norms`."""
    from regard.fast.cpu.transformer_step import Norms

    gain, shift = (
        np.stack([stacked_arrays([getattr(norm, name) for norm in each]) for each in norms])
        for name in ("gain", "shift")
    )
    return Norms(gain, shift, np.array([[norm.epsilon for norm in each] for each in norms], gain.dtype))


def stacked_arrays(tensors: Sequence[Tensor]) -> Any:
    """A copy of some tensors of one shape, with one more axis in front."""
    return torch.stack([one.detach() for one in tensors]).numpy()
