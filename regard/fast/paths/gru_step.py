"""One step of a GRU on CUDA in torch's kernel: one launch instead of eight after the matrix products."""

from __future__ import annotations

from torch import Tensor, nn

from regard.nn.cells import GRUCell
from regard.nn.path import Path
from regard.parts import register
from regard.private import gru_cell


@register("path", "gru-step")
class GRUStep(Path):
    """torch's kernel for CUDA: all of a GRU's step after the matrix products."""

    serves = "gru.advance"
    devices = ("cuda",)
    rank = 20

    def takes(self, cell: GRUCell, projected: Tensor, state: Tensor) -> bool:
        return state.is_cuda and not self.why_not(cell, projected, state) and gru_cell() is not None

    def why_not(self, cell: GRUCell, projected: Tensor, state: Tensor) -> str:
        if cell.as_torch and cell.update == "torch":
            return ""
        return "torch's GRU computes another update, reset or activation."

    def run(self, cell: GRUCell, projected: Tensor, state: Tensor) -> Tensor:
        recurrent = nn.functional.linear(state, cell.weight_hh, cell.bias_hh)
        gates, run = 3 * cell.size, gru_cell()
        assert run is not None
        rows = (projected.reshape(-1, gates), recurrent.reshape(-1, gates), state.reshape(-1, cell.size))
        advanced: Tensor = run(*(row.to(recurrent.dtype) for row in rows))[0]
        return advanced.view_as(state)
