"""A multilayer perceptron over each word: no word sees another, and the summary is the perceptron of their mean."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.nn.embedding import TokenVectors
from regard.nn.encoders.mean import masked_mean
from regard.nn.encoders.text import (
    TextEncoder,
    build_word_embedding,
    embedding_note,
    parents_lines,
    word_vector,
)
from regard.nn.letters import Letters, linear
from regard.nn.memory import Memory
from regard.parts import Depth, Size, register


@register("encoder", "mlp")
class MlpEncoder(TextEncoder):
    """h⁰_s = e(x_s),  hˡ_s = f(W_l hˡ⁻¹_s + b_l);  the summary is the same network of the mean of the h⁰_s.

    The summary is that of deep averaging networks (Iyyer et al. 2015).
    """

    class Options(TextEncoder.Options):
        """Layers f(W h + b) over the vector of each word, and over their mean as summary (Iyyer 2015)."""

        size: Size = 256
        """Units of each layer."""
        layers: Depth = 2
        """Number of layers."""
        activation: Literal["relu", "tanh"] = "relu"
        """The function f."""

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> MlpEncoder:
        return cls(
            build_word_embedding(options, column, read_files=read_files),
            size=options.size,
            layers=options.layers,
            activation=options.activation,
            dropout=options.dropout,
        )

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        last, f = options.layers, options.activation
        return [
            f"j = 1 … S, l = 1 … {last}",
            f"h_0j = {word_vector(options)}",
            f"h_lj = {f}(W_l h_{{l−1,j}} + b_l)",
            f"h_j = h_{last}j",
            "m_0 = Σ_j h_0j / S",
            f"m_l = {f}(W_l m_{{l−1}} + b_l)",
            f"h = m_{last}     — the summary",
            f"— {options.size} units a layer, {embedding_note(options)}",
            *parents_lines(options),
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return super().letters(options) | linear("layers.*", "W_l", "b_l")

    def __init__(
        self,
        embedding: TokenVectors,
        *,
        size: int,
        layers: int = 2,
        activation: str = "relu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding, self.value_size, self.summary_size = embedding, size, size
        sizes = [embedding.size, *[size] * layers]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.relu = activation == "relu"
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Memory:
        words = self.embedding.read(tokens)
        summary = self._through(masked_mean(words, tokens.mask))
        return Memory(self._through(words) * tokens.mask.unsqueeze(-1), tokens.mask, summary)

    def _through(self, values: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            values = layer(self.dropout(values) if number else values)
            values = torch.relu(values) if self.relu else torch.tanh(values)
        return values
