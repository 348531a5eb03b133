"""Convolutions over a text: every position sees its neighbours, all positions at once."""

from __future__ import annotations

import torch
from torch import nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.embedding import Reading
from regard.nn.encoders.base import Encoder
from regard.nn.encoders.mean import masked_mean
from regard.nn.memory import Memory


class ConvolutionalEncoder(Encoder):
    """h⁰ = W e(x) + p,  hˡ_s = hˡ⁻¹_s + tanh(Σ_k C_k hˡ⁻¹_{s+k} + b);  the summary is the mean of the last layer.

    p is a learned vector for each of the first `positions` places (the last one serves all beyond). Positions outside
    the text count as zero, whatever the padding.
    """

    def __init__(
        self,
        embedding: Reading,
        *,
        size: int,
        width: int = 3,
        layers: int = 2,
        dropout: float = 0.0,
        positions: int = 512,
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
