"""What every encoder of tokens has in common."""

from __future__ import annotations

from torch import nn

from regard.data.batch import Tokens
from regard.nn.memory import Memory


class Encoder(nn.Module):
    """Tokens → Memory with values (B, S, value_size) and summary (B, summary_size).

    gain   what the values are to be multiplied with so that their features are of about one
    """

    value_size: int
    summary_size: int
    gain: float = 1.0

    def forward(self, tokens: Tokens) -> Memory:
        raise NotImplementedError
