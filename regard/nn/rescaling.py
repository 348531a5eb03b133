"""Rescaling: weights of any sum brought to a given one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.batching import once

SMALLEST = 1e-20
"""A sum below it counts as nothing: its inverse, and that times a gradient, are finite in single precision."""


def rescale(weights: Tensor, mass: float) -> Tensor:
    """mass · w / Σ w over the last dimension; zeros where the weights are all zero. w ≥ 0."""
    if torch.compiler.is_compiling():
        return weights * (mass / _total(weights))
    scaled: Tensor = _Rescale.apply(weights, mass)  # type: ignore[no-untyped-call]
    return scaled


def _total(weights: Tensor) -> Tensor:
    return weights.sum(-1, keepdim=True).clamp(min=SMALLEST)


class _Rescale(torch.autograd.Function):
    """Asked for at every step of a decoder, hence written out: with r the result,

    dw = (mass / Σ w) (dr − Σ dr r / mass)
    """

    @staticmethod
    def forward(ctx: Any, weights: Tensor, mass: float) -> Tensor:
        factor = mass / _total(weights)
        scaled = weights * factor
        ctx.save_for_backward(scaled, factor)
        ctx.mass = mass
        return scaled

    @staticmethod
    @once
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        scaled, factor = ctx.saved_tensors
        mean = (gradient * scaled).sum(-1, keepdim=True)
        return torch.sub(gradient, mean, alpha=1 / ctx.mass) * factor, None
