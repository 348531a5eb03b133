"""What several queries read from their memory on CUDA, in one kernel."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.path import Path
from regard.parts import register
from regard.structures.kernels.availability import triton_takes

MOST = 32
"""Maximum number of queries, and of positions, of one sequence."""


@register("path", "reads")
class Reads(Path):
    """Σ_s α_s · values_s of several queries in a kernel for CUDA."""

    serves = "attention.read"
    devices = ("cuda",)
    rank = 20

    def takes(self, weights: Tensor, values: Tensor) -> bool:
        return weights.shape[1] > 1 and triton_takes(values) and not self.why_not(weights, values)

    def why_not(self, weights: Tensor, values: Tensor) -> str:
        if weights.shape[1] == 1:
            return "There is one query."
        if values.dtype != torch.bfloat16:
            return "The values are not in bfloat16."
        if weights.numel() == 0 or max(weights.shape[1:]) > MOST:
            return f"There are no queries, or more than {MOST} queries or positions."
        return ""

    def run(self, weights: Tensor, values: Tensor) -> Tensor:
        from regard.fast.cuda import reads

        return reads.read(weights, values)
