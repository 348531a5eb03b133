"""A layer of the self-attention language model; the keys and values of earlier spans are cached."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.path import Replaces
from regard.nn.rotary import turned
from regard.nn.transformer_layers import SHORT, FeedForward, MultiHead, Norm, Residual
from regard.parts.definition import remember


@remember
class StreamAttention(MultiHead):
    """Self-attention with rotary positions. The queries belong to the last T of S positions.

    Keys are cached before they turn, so that the cache does not depend on where a span begins.
    """

    def forward(self, query: Tensor, prepared: tuple[Tensor, Tensor], mask: Tensor | None = None) -> Tensor:
        """query (B, T, D), keys and values (B, H, S, d), mask (B, 1, T, S) → (B, T, D)."""
        asked, (keys, values) = self.split(self.query(query)), prepared
        dropout = self.dropout if self.training else 0.0
        few = query.is_cuda and asked.shape[2] * keys.shape[2] <= SHORT
        if few or not TURNED(self):
            weights = torch.softmax(self.energies(asked, keys, mask), -1)
            read = nn.functional.dropout(weights, dropout, self.training) @ values
        else:
            bias = mask
            if self.distances is not None:
                bias = self._distance(asked, keys).unsqueeze(0)
                bias = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
            read = nn.functional.scaled_dot_product_attention(
                *self._turned(asked, keys), values, attn_mask=bias, dropout_p=dropout
            )
            if not query.is_cuda:
                read = read + self._zero_if_finite(asked, keys, mask).to(read.dtype)
        written: Tensor = self.output(read.transpose(1, 2).flatten(2))
        return written

    def energies(self, asked: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().energies(*self._turned(asked, keys), mask)

    def _turned(self, asked: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        return turned(asked, keys.shape[2] - asked.shape[2]), turned(keys, 0)


TURNED = Replaces(StreamAttention, methods=("energies", "_turned", "_apart", "_before", "_distance"))
"""The methods that torch's attention replaces."""


@remember
class StreamLayer(nn.Module):
    """Self-attention, then the feed-forward network, each in a residual connection."""

    def __init__(
        self,
        size: int,
        heads: int,
        hidden: int,
        norm: Norm,
        *,
        dropout: float,
        attention_dropout: float,
        distances: int | None = None,
    ) -> None:
        super().__init__()
        self.itself = StreamAttention(
            size, heads, dropout=attention_dropout, distances=distances, causal=True
        )
        self.feed = FeedForward(size, hidden, dropout=dropout)
        self.first, self.second = (Residual(size, norm, dropout=dropout) for _ in range(2))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x (B, T, D), cached keys and values (B, H, M, d), mask (B, 1, T, M+T) → x after the layer, and the keys and
        values of all M+T positions."""
        seen = self.first.enter(x)
        keys, values = (
            torch.cat([before.to(now.dtype), now], 2)
            for before, now in zip((keys, values), self.itself.prepare(seen), strict=True)
        )
        x = self.first(x, self.itself(seen, (keys, values), mask))
        return self.second(x, self.feed(self.second.enter(x))), keys, values

    def looks(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, H, T, T)"""
        seen = self.first.enter(x)
        return self.itself.weights(seen, self.itself.prepare(seen)[0], mask)
