"""A recurrent layer of an encoder on CUDA: both directions in parallel, captured as a graph."""

from __future__ import annotations

from torch import Tensor

from regard.fast import recurrence_cuda
from regard.fast.recurrence import NO_KERNEL
from regard.nn.packing import Packing
from regard.nn.path import Path
from regard.nn.recurrence import RecurrentLayer
from regard.parts import register


@register("path", "layer-cuda")
class LayerOnCUDA(Path):
    """Our kernels for CUDA, captured as a graph: a recurrent layer over whole sequences, in one direction or both."""

    serves = "layer.run"
    devices = ("cuda",)
    rank = 20

    def takes(self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False) -> bool:
        cells = layer.each()
        return recurrence_cuda.knows(cells, inputs) and not (whole and cells[0].carries)

    def why_not(self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False) -> str:
        cells = layer.each()
        if not recurrence_cuda.has_kernels(cells):
            return NO_KERNEL
        if whole and cells[0].carries:
            return "The decoder continues from all last states, and the kernels return the outputs alone."
        return ""

    def run(
        self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False
    ) -> tuple[Tensor, Tensor]:
        return recurrence_cuda.run(layer.each(), layer.first, inputs, packing)
