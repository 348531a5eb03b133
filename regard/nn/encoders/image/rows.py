"""Reading an image row by row, like lines of symbols (Deng, Kanervisto, Ling, Rush 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.encoders.layer_symbols import LayerSymbols
from regard.nn.letters import Letters, under
from regard.nn.packing import Packing
from regard.nn.recurrence import RecurrentLayer
from regard.parts import find


class RowReader(nn.Module):
    """h_rc ← [→g_rc; ←g_rc], g two GRUs along the columns c of each row r: (B, S, D) → (B, S, size).

    All rows share the weights. The values tell a row its number if they encode their position
    (`GridPosition`). The published model instead learns an initial state for each row.
    """

    @classmethod
    def board(cls) -> list[str]:
        """Equations from v_j to h_j, where ρ_j and χ_j are the row and the column of position j."""
        layer = cls._layer()
        return [
            "ρ = 1 … U, χ = 1 … K, d ∈ {→, ←}     — the U rows and K columns of the grid",
            *layer.steps(),
            "→g_ρ0 = g_→     — learned",
            "←g_{ρ,K+1} = g_←",
            "h_j = [→g_{ρ_j,χ_j}; ←g_{ρ_j,χ_j}]     — ρ_j, χ_j: the row and the column of position j",
            *layer.functions(),
        ]

    @classmethod
    def letters(cls) -> Letters:
        """The letters of its parameters in these equations."""
        return under("layer", cls._layer().letters())

    @classmethod
    def _layer(cls) -> LayerSymbols:
        return LayerSymbols(
            find("cell", "gru").Options(),
            inputs="v_{(ρ−1) K + χ}",
            letter="g",
            at=("ρ",),
            index="χ",
            mark="r",
            first=("0", "K+1"),
        )

    def __init__(self, grid: tuple[int, int], channels: int) -> None:
        super().__init__()
        self.grid = grid
        half = (channels + 1) // 2
        self.size = 2 * half
        self.layer = RecurrentLayer(channels, half)

    def forward(self, values: Tensor) -> Tensor:
        rows, columns = self.grid
        lines = values.reshape(-1, columns, values.shape[-1])  # (B · rows, columns, D)
        lengths = torch.full((len(lines),), columns)
        packing = Packing.of(lengths.to(lines.device), columns, lengths)
        read, _ = self.layer(packing.pack(lines), packing)
        return packing.unpack(read).reshape(len(values), rows * columns, -1)
