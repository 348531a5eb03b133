"""A path: layers of GRUs are run by torch's kernels, whatever others take them."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

import regard
from regard.nn import Packing, RecurrentLayer

GRUS = regard.nn.Replaces(regard.nn.GRUCell)


@regard.register("path", "torch-gru")
class TorchGRU(regard.nn.Path):
    """torch's kernel: a layer of GRUs over whole sequences."""

    serves = "layer.run"
    ran: ClassVar[int] = 0

    def takes(self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False) -> bool:
        return not self.why_not(layer, inputs, packing)

    def why_not(self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False) -> str:
        fits = GRUS(*layer.each()) and all(cell.torch_recurrence() is not None for cell in layer.each())
        return "" if fits else "The cell is no GRU, or was changed."

    def run(
        self, layer: RecurrentLayer, inputs: Tensor, packing: Packing, *, whole: bool = False
    ) -> tuple[Tensor, Tensor]:
        TorchGRU.ran += 1
        return layer.by_torch(inputs, packing, whole=whole)
