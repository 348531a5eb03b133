"""The repetition penalty on attending to a position again (the coverage loss of See et al. 2017)."""

from __future__ import annotations

from torch import Tensor

from regard.nn.packing import Packing


def repetition_total(weights: Tensor, packing: Packing) -> Tensor:
    """Σ_t Σ_s min(α_ts, r_ts), r_ts = Σ_{υ<t} α_υs, summed over rows (See et al. 2017, equation 12).

    weights   (N, S) packed, without padding
    """
    looks = packing.unpack(weights)  # (B, T, S)
    return looks.minimum(looks.cumsum(1) - looks).sum()
