"""The vectors of an input as they are; nothing is learned."""

from __future__ import annotations

from typing import Any

from regard.data.media import Series
from regard.nn.encoders.encoder import Encoder
from regard.nn.encoders.mean import masked_mean
from regard.nn.memory import Memory
from regard.parts import register


@register("encoder", "vectors")
class VectorsEncoder(Encoder):
    """values h_j = x_j, summary their mean: for a decoder that reads its input itself, step by step."""

    class Options(Encoder.Options):
        """The vectors themselves as memory, their mean as summary."""

    reads = ("bits", "series")
    unchanged = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> VectorsEncoder:
        return cls(column.size)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        return ["j = 1 … S", "h_j = x_j     — the vectors themselves", "h = Σ_j h_j / S     — the summary"]

    def __init__(self, size: int) -> None:
        super().__init__()
        self.value_size = self.summary_size = size

    def forward(self, series: Series) -> Memory:
        return Memory(series.values, series.mask, masked_mean(series.values, series.mask))
