"""The loss of an output layer on CUDA, where the kernel leaves out rows with a negative target."""

from __future__ import annotations

from torch import Tensor

from regard.fast.outputs import CHANGED_OUTPUT, OUTPUTS, on_cuda
from regard.nn.decoders.output import Output
from regard.nn.path import Path
from regard.parts import register


@register("path", "loss-of-some-cuda")
class LossOfSomeOnCUDA(Path):
    """The loss of an output layer on CUDA, where the kernel leaves out rows with a negative target."""

    serves = "output.loss_of_some"
    devices = ("cuda",)
    rank = 20

    def takes(self, output: Output, rows: Tensor, targets: Tensor, smoothing: float) -> bool:
        return OUTPUTS(output) and on_cuda(rows, output.weight)

    def why_not(self, output: Output, rows: Tensor, targets: Tensor, smoothing: float) -> str:
        return "" if OUTPUTS(output) else CHANGED_OUTPUT

    def run(self, output: Output, rows: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        from regard.fast.cuda.cost import ChunkedCost

        total, likelihood = ChunkedCost.apply(rows, output.weight, output.bias, targets, smoothing)
        return total, likelihood
