"""Rotary positions: pairs of features turn with the position (Su et al. 2021).

R[j] turns features 2i−1 and 2i by the angle j / 10000^{2(i−1)/d},      i = 1 … d/2
(R[t] q)·(R[j] k) depends on t − j alone
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def turned(rows: Tensor, first: int) -> Tensor:
    """rows (…, T, d) at the positions first, first + 1, …; an odd last feature stays as it is."""
    count, pairs = rows.shape[-2], rows.shape[-1] // 2
    wide = torch.promote_types(rows.dtype, torch.float32)
    places = torch.arange(first, first + count, device=rows.device, dtype=wide)
    steps = torch.arange(0, 2 * pairs, 2, device=rows.device, dtype=wide)
    angles = places[:, None] * torch.exp(steps * (-math.log(10000.0) / rows.shape[-1]))  # (T, d/2)
    cosines, sines = angles.cos().to(rows.dtype), angles.sin().to(rows.dtype)
    even, odd = rows[..., 0 : 2 * pairs : 2], rows[..., 1 : 2 * pairs : 2]
    found = torch.stack([even * cosines - odd * sines, even * sines + odd * cosines], -1).flatten(-2)
    return found if rows.shape[-1] == 2 * pairs else torch.cat([found, rows[..., -1:]], -1)
