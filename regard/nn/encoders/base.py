"""What every encoder of tokens has in common."""

from __future__ import annotations

from torch import nn

from regard.data.batch import Tokens
from regard.nn.memory import Memory


class Encoder(nn.Module):
    """Tokens → Memory with values (B, S, value_size) and summary (B, summary_size)."""

    value_size: int
    summary_size: int

    def forward(self, tokens: Tokens) -> Memory:
        raise NotImplementedError
