"""The mean of embeddings: a bag of words."""

from __future__ import annotations

from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.embedding import Reading
from regard.nn.encoders.base import Encoder
from regard.nn.memory import Memory


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the positions that exist: (B, S, D), (B, S) → (B, D); zero where there are none."""
    total = (values * mask.unsqueeze(-1)).sum(1)
    return total / mask.sum(1, keepdim=True).clamp(min=1)


class MeanEncoder(Encoder):
    """values h_s = e(x_s), summary Σ_s h_s / n; with `scaled`, h_s = √D e(x_s).

    Embeddings have norm one. Scaled, their features are of about one, as those of a recurrent state beside them are.
    """

    def __init__(self, embedding: Reading, *, scaled: bool = False) -> None:
        super().__init__()
        self.embedding = embedding
        self.value_size = self.summary_size = embedding.size
        root = embedding.size**0.5
        self.scale: float = root if scaled else 1.0
        self.gain = 1.0 if scaled else root

    def forward(self, tokens: Tokens) -> Memory:
        values = self.embedding.read(tokens) * self.scale
        return Memory(values, tokens.mask, masked_mean(values, tokens.mask))
