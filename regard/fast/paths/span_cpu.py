"""The layers of a language model over a span on the CPU, in compiled kernels with a backward pass of their own."""

from __future__ import annotations

from torch import Tensor

from regard.fast.recurrence import NO_KERNEL, kernel_of, knows_on_cpu, run_on_cpu
from regard.nn.cells import Cell
from regard.nn.decoders.continuing import Carried
from regard.nn.decoders.language import LanguageDecoder
from regard.nn.packing import FullPacking
from regard.nn.path import Path
from regard.nn.recurrence import Weights
from regard.parts import register


@register("path", "span-cpu")
class SpanOnCPU(Path):
    """Compiled kernels for the CPU: the layers of a recurrent language model over a span."""

    serves = "language.layers"
    devices = ("cpu",)
    rank = 10

    def takes(self, decoder: LanguageDecoder, inputs: Tensor, state: Carried) -> bool:
        return knows_on_cpu(decoder.each(), inputs, inputs.shape[1])

    def why_not(self, decoder: LanguageDecoder, inputs: Tensor, state: Carried) -> str:
        return NO_KERNEL if kernel_of(decoder.each()) is None else ""

    def run(self, decoder: LanguageDecoder, inputs: Tensor, state: Carried) -> tuple[Tensor, Carried]:
        weights = [decoder.weights(cell) for cell in decoder.each()]
        return decoder.by_layers(_by_kernels, weights, inputs, state)


def _by_kernels(cell: Cell, weights: Weights, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """One layer: inputs (T, B, I) and states (B, state) → outputs (T, B, size), last states."""
    width, rows, _ = inputs.shape
    packing = FullPacking.over(rows, width, inputs.device)
    outputs, last = run_on_cpu([cell], inputs.flatten(0, 1), packing, state, [weights])
    return outputs.unflatten(0, (width, rows)), last
