"""Doubly stochastic attention: over a whole output, the weights of each position should sum to about one."""

from __future__ import annotations

from torch import Tensor

from regard.nn.packing import Packing


def coverage_total(weights: Tensor, mask: Tensor, packing: Packing) -> Tensor:
    """Σ_s (1 − Σ_t α_ts)² over the positions that exist, summed over rows (Xu et al. 2015, equation 14).

    weights   (N, S) packed, without padding
    mask      (B, S)
    """
    looked = weights.new_zeros(mask.shape).index_add(0, packing.rows(), weights)  # (B, S)
    return ((1.0 - looked).square() * mask).sum()
