"""Products of many small matrices."""

from __future__ import annotations

from torch import Tensor

SMALL = 2**14
"""Multiplications per product up to which elementwise multiplication and a sum are faster on a CPU than a
batched matrix product, which makes one call for each matrix."""


def pair_products(left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j for every pair: (B, I, D), (B, J, D) → (B, I, J)."""
    if left.device.type == "cpu" and left.shape[1] * right.shape[1] * left.shape[2] <= SMALL:
        return (left.unsqueeze(2) * right.unsqueeze(1)).sum(-1)
    return left @ right.mT


def weighted_sums(weights: Tensor, values: Tensor) -> Tensor:
    """Σ_s weights_ts values_s: (B, T, S), (B, S, D) → (B, T, D)."""
    if values.device.type == "cpu" and weights.shape[1] * values.shape[1] * values.shape[2] <= SMALL:
        return (weights.unsqueeze(-1) * values.unsqueeze(1)).sum(2)
    return weights @ values
