"""A layer of a recurrent decoder on CUDA, if no context enters the recurrence."""

from __future__ import annotations

from torch import Tensor

from regard.fast import recurrence_cuda
from regard.fast.recurrence import NO_KERNEL
from regard.nn.cells import Cell
from regard.nn.packing import Packing
from regard.nn.path import Path
from regard.parts import register


@register("path", "stack-cuda")
class StackOnCUDA(Path):
    """Our kernels for CUDA, captured as a graph: a layer of a decoder whose recurrence reads no context."""

    serves = "stack.layer"
    devices = ("cuda",)
    rank = 20

    def takes(self, cell: Cell, inputs: Tensor, first: Tensor, packing: Packing) -> bool:
        return recurrence_cuda.knows([cell], inputs)

    def why_not(self, cell: Cell, inputs: Tensor, first: Tensor, packing: Packing) -> str:
        return "" if recurrence_cuda.has_kernels([cell]) else NO_KERNEL

    def run(self, cell: Cell, inputs: Tensor, first: Tensor, packing: Packing) -> Tensor:
        return recurrence_cuda.run_forward(cell, first, inputs, packing)
