"""Rescaling: bring weights to a given sum."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.private import eager
from regard.structures.kernels.availability import once

SMALLEST = 1e-20
"""Smallest sum to divide by: its inverse, also times a gradient, is finite in single precision."""


def rescale(weights: Tensor, mass: float) -> Tensor:
    """w / γ with γ = Σ w / mass over the last dimension; zeros if all weights are zero. w ≥ 0."""
    if not eager():
        return weights / (weights.sum(-1, keepdim=True).clamp(min=SMALLEST) / mass)
    scaled: Tensor = _Rescale.apply(weights, mass)  # type: ignore[no-untyped-call]
    return scaled


class _Rescale(torch.autograd.Function):
    """The gradient is written by hand, because every step of a decoder needs it: with r the result,
    dw = (dr − Σ dr r / mass) / γ."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, mass: float) -> Tensor:
        gamma = weights.sum(-1, keepdim=True).clamp_(min=SMALLEST).mul_(1 / mass)
        scaled = weights / gamma
        ctx.save_for_backward(scaled, gamma)
        ctx.mass = mass
        return scaled

    @staticmethod
    @once
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        scaled, gamma = ctx.saved_tensors
        mean = (gradient * scaled).sum(-1, keepdim=True)
        return torch.sub(gradient, mean, alpha=1 / ctx.mass).div_(gamma), None
