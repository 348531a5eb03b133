"""The loss of an output layer and its gradient in compiled kernels for the CPU."""

from __future__ import annotations

from torch import Tensor

from regard.fast.outputs import CHANGED_OUTPUT, OUTPUTS
from regard.nn.decoders.output import Output
from regard.nn.path import Path
from regard.parts import register
from regard.structures.kernels.availability import within_reach


@register("path", "loss-cpu")
class LossOnCPU(Path):
    """The loss of an output layer and its gradient in compiled kernels for the CPU."""

    serves = "output.loss"
    devices = ("cpu",)
    rank = 10

    def takes(self, output: Output, rows: Tensor, targets: Tensor, smoothing: float) -> bool:
        return OUTPUTS(output) and within_reach(rows, output.weight, rows=len(rows))

    def why_not(self, output: Output, rows: Tensor, targets: Tensor, smoothing: float) -> str:
        return "" if OUTPUTS(output) else CHANGED_OUTPUT

    def run(self, output: Output, rows: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        from regard.fast.cpu.cost import PackedCost

        total, likelihood = PackedCost.apply(rows, output.weight, output.bias, targets, smoothing)
        return total, likelihood
