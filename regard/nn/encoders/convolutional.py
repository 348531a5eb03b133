"""Convolutions over a text: every position sees its neighbors, and all positions are computed at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from regard.data.batch import Tokens
from regard.errors import RegardError
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
from regard.parts import Count, Depth, Mistakes, Plan, Size, register

POSITIONS = 512
"""Number of positions with their own learned vector."""


@register("encoder", "convolutional")
class ConvolutionalEncoder(TextEncoder):
    """h⁰ = W e(x) + p,  hˡ_s = hˡ⁻¹_s + tanh(Σ_k C_k hˡ⁻¹_{s+k} + b);  the summary is the mean of the last layer.

    p is a learned vector for each of the first `positions` positions; later ones share the last vector.
    Positions outside the text are zero, so padding has no effect.
    """

    class Options(TextEncoder.Options):
        """Convolutions over the embeddings and their positions, with residual connections."""

        size: Size = 256
        """Features of each layer."""
        width: Count = 3
        """Number of positions that a convolution sees; must be odd."""
        layers: Depth = 2
        """Number of stacked convolutions."""

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> ConvolutionalEncoder:
        return cls(
            build_word_embedding(options, column, read_files=read_files),
            size=options.size,
            width=options.width,
            layers=options.layers,
            dropout=options.dropout,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        if options.width % 2 == 0:
            mistakes.add(
                f"width is {options.width}; a convolution's width must be odd.",
                "width",
                fix=f"Choose {options.width + 1}.",
            )

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        reach = options.width // 2
        near = "Σ_{δ: 1 ≤ j + δ ≤ S} C_lδ h_{l−1,j+δ}"
        return [
            f"j = 1 … S, l = 1 … {options.layers}, δ = {0 - reach} … {reach}".replace("-", "−"),
            f"h_0j = W_x {word_vector(options)} + b_x + P_x[min(j, {POSITIONS})]",
            f"h_lj = h_{{l−1,j}} + tanh({near} + b_l)",
            f"h_j = h_{options.layers}j",
            "h = Σ_j h_j / S     — the summary",
            f"— {options.size} units a layer, {embedding_note(options)}",
            *parents_lines(options),
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        layers = linear("layers.*", "C_lδ", "b_l")
        return super().letters(options) | linear("project", "W_x", "b_x") | layers | {"place": "P_x"}

    def __init__(
        self,
        embedding: TokenVectors,
        *,
        size: int,
        width: int = 3,
        layers: int = 2,
        dropout: float = 0.0,
        positions: int = POSITIONS,
    ) -> None:
        super().__init__()
        if width % 2 == 0:
            raise RegardError(
                f"A convolution's width must be odd; received {width}.", fix=f"Choose {width + 1}."
            )
        self.embedding = embedding
        self.value_size = self.summary_size = size
        self.project = nn.Linear(embedding.size, size)
        self.place = nn.Parameter(torch.zeros(positions, size))
        self.layers = nn.ModuleList(nn.Conv1d(size, size, width, padding=width // 2) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Memory:
        mask = tokens.mask
        keep = mask.unsqueeze(-1)
        places = torch.arange(tokens.ids.shape[1], device=tokens.ids.device).clamp(max=len(self.place) - 1)
        values = (self.project(self.embedding.read(tokens)) + self.place[places]) * keep  # (B, S, D)
        for layer in self.layers:
            seen = layer(self.dropout(values).transpose(1, 2)).transpose(1, 2)
            values = (values + torch.tanh(seen)) * keep
        return Memory(values, mask, masked_mean(values, mask))
