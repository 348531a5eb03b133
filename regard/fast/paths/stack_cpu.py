"""A layer of a recurrent decoder on the CPU, if no context enters the recurrence."""

from __future__ import annotations

from torch import Tensor

from regard.fast.recurrence import NO_KERNEL, kernel_of, knows_on_cpu, run_on_cpu
from regard.nn.cells import Cell
from regard.nn.packing import Packing
from regard.nn.path import Path
from regard.parts import register


@register("path", "stack-cpu")
class StackOnCPU(Path):
    """Compiled kernels for the CPU: a layer of a decoder whose recurrence reads no context."""

    serves = "stack.layer"
    devices = ("cpu",)
    rank = 10

    def takes(self, cell: Cell, inputs: Tensor, first: Tensor, packing: Packing) -> bool:
        return knows_on_cpu([cell], inputs, len(packing.longest))

    def why_not(self, cell: Cell, inputs: Tensor, first: Tensor, packing: Packing) -> str:
        return NO_KERNEL if kernel_of([cell]) is None else ""

    def run(self, cell: Cell, inputs: Tensor, first: Tensor, packing: Packing) -> Tensor:
        return run_on_cpu([cell], inputs, packing, first.index_select(0, packing.order))[0]
