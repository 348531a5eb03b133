"""What several queries read from their memory on CUDA, in one kernel."""

from __future__ import annotations

from torch import Tensor

from regard.nn.path import Path
from regard.parts import register
from regard.structures.kernels.availability import triton_takes


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
        from regard.fast.cuda import reads

        return "" if reads.suits(weights, values) else "The sizes or the types do not suit the kernel."

    def run(self, weights: Tensor, values: Tensor) -> Tensor:
        from regard.fast.cuda import reads

        return reads.read(weights, values)
