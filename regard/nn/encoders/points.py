"""Points encoder: a recurrent network that reads the coordinates of one point after another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.cells import AnyCell
from regard.nn.embedding import Arrange, as_it_stands
from regard.nn.encoders.encoder import Encoder, refuse_unread
from regard.nn.encoders.recurrent import (
    Direction,
    RecurrentEncoder,
    Values,
    layer_letters,
    layer_lines,
    written_last,
)
from regard.nn.letters import Letters, linear
from regard.nn.memory import Memory
from regard.nn.recurrence import First
from regard.nn.symbols import MemorySymbols
from regard.parts import Depth, Dropout, Mistakes, Plan, Size, register


class Coordinates(nn.Module):
    """A `Series` of points (B, S, k) → W (p − mean) / spread + b, (…, size)."""

    mean: Tensor
    spread: Tensor

    def __init__(self, mean: Any, spread: float, size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float64))
        self.register_buffer("spread", torch.tensor(spread, dtype=torch.float64))
        self.linear = nn.Linear(len(mean), size)
        self.dropout = nn.Dropout(dropout)

    def read(self, tokens: Any, arrange: Arrange = as_it_stands) -> Tensor:
        normal = (arrange(tokens.values) - self.mean) / self.spread
        vectors: Tensor = self.dropout(self.linear(normal.to(self.linear.weight.dtype)))
        return vectors


@register("encoder", "points")
class PointsEncoder(RecurrentEncoder):
    """The recurrent encoder with x_j = W (p_j − mean) / spread + b for the point p_j (Vinyals et al. 2015).

    The points are read in the order of the row: with one direction, a position knows only the points before
    it.
    """

    class Options(Encoder.Options):
        """h_j = cell(h_{j−1}, W p_j + b) over the points of a row, in one direction or both."""

        cell: AnyCell = "lstm"
        """The recurrent cell."""
        size: Size = 256
        """Units of each layer, in each direction."""
        layers: Depth = 1
        """Number of stacked recurrent layers."""
        bidirectional: bool = True
        """Read in both directions."""
        direction: Direction = "forward"
        """Reading direction if not bidirectional. forward; backward;
        alternate: the layers in turn, the first forward."""
        residual: bool = False
        """Add the input of each layer to its output, from the second layer on."""
        first: First = "learned"
        """The initial state: learned, or zero."""
        values: Values = "states"
        """Values that attention reads. states: the states of the last layer; embeddings: the vectors of the
        points, with the states as keys."""
        embedding: Size = 64
        """Size of the vector of a point."""
        dropout: Dropout = 0.0
        """Dropout of the vectors of points, and between layers."""

    reads = ("points",)

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> PointsEncoder:
        return cls(
            Coordinates(column.mean, column.spread, options.embedding, dropout=options.dropout),
            **cls.layer_settings(options),
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        refuse_unread(options, ["values"], plan, mistakes)
        cls.check_layers(options, plan, mistakes)

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        return {}

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        written = MemorySymbols() if options.values == "states" else MemorySymbols(keys="κ_j")
        return written_last(written, options)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        both = " in each direction" if options.bidirectional else ""
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            *layer_lines(options, "W_e (w_j − m_e) / d_e + b_e"),
            "— w_j: the coordinates of point j; m_e, d_e: their mean and spread in training",
            f"— {options.size} units{both}, vectors of {options.embedding}{dropout}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return linear("embedding.linear", "W_e", "b_e") | layer_letters(options)

    def forward(self, tokens: Any) -> Memory:
        memory = super().forward(tokens)
        return replace(memory, layout="points", points=tokens.values)
