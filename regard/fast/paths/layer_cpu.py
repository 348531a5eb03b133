"""A recurrent layer of an encoder on the CPU, in compiled kernels."""

from __future__ import annotations

from torch import Tensor

from regard.fast.recurrence import NO_KERNEL, kernel_of, knows_on_cpu, run_on_cpu
from regard.nn.packing import Packing
from regard.nn.path import Path
from regard.nn.recurrence import RecurrentLayer
from regard.parts import register


@register("path", "layer-cpu")
class LayerOnCPU(Path):
    """Compiled kernels for the CPU: a recurrent layer over whole sequences, in one direction or both."""

    serves = "layer.run"
    devices = ("cpu",)
    rank = 10

    def takes(self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False) -> bool:
        return knows_on_cpu(layer.each(), inputs, len(packing.longest))

    def why_not(self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False) -> str:
        return NO_KERNEL if kernel_of(layer.each()) is None else ""

    def run(
        self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False
    ) -> tuple[Tensor, Tensor]:
        first = layer.first.flatten().expand(len(packing.longest), -1)
        outputs, last = run_on_cpu(layer.each(), inputs, packing, first)
        states = last.unflatten(1, (len(layer.cells), -1)).index_select(0, packing.back)
        return outputs, layer.last_states(states, whole)
