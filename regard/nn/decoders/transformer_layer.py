"""A layer of the Transformer decoder, over a whole output or one step at a time,
and its state in a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.nn.decoders.decoder import Source
from regard.nn.imposed import Imposed
from regard.nn.transformer_layers import FeedForward, MultiHead, Norm, Residual
from regard.parts.definition import remember

Prepared = tuple[Tensor, Tensor]
"""Keys and values, (B, H, S, d) each."""


@dataclass(frozen=True)
class TransformerState:
    """K hypotheses about each of B sources.

    memory     for each layer the keys and values of all memories, (B, H, S, d)
    mask       (B, S) True at the positions that exist
    written    for each layer the keys and values of the tokens written so far, (B, K, H, t, d)
    position   number of tokens read
    """

    memory: tuple[Prepared, ...]
    mask: Tensor
    written: tuple[Prepared, ...]
    position: int = 0

    def reorder(self, parents: Tensor) -> TransformerState:
        """Hypothesis k of the new state continues hypothesis parents[b, k] of this one; (B, K') int64."""
        index = parents[:, :, None, None, None]

        def follow(tensor: Tensor) -> Tensor:
            return tensor.gather(1, index.expand(-1, -1, *tensor.shape[2:]))

        return replace(self, written=tuple((follow(keys), follow(values)) for keys, values in self.written))

    def select(self, rows: Tensor) -> TransformerState:
        """The state of some of the sources, (B') int64."""

        def pick(pairs: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
            return tuple((keys.index_select(0, rows), values.index_select(0, rows)) for keys, values in pairs)

        return replace(
            self,
            memory=pick(self.memory),
            mask=self.mask.index_select(0, rows),
            written=pick(self.written),
        )


@remember
class MemoryAttention(MultiHead):
    """Attention over the positions of several memories at once,
    each with its own projections of keys and values."""

    def __init__(self, size: int, heads: int, *, sources: Mapping[str, Source], dropout: float = 0.0) -> None:
        first, *others = sources
        super().__init__(size, heads, key_size=sources[first].value_size, dropout=dropout)
        self.names = tuple(sources)
        self.further = nn.ModuleDict({name: nn.Linear(sources[name].value_size, 2 * size) for name in others})

    def prepare_all(self, memories: Mapping[str, Tensor]) -> Prepared:
        """Keys and values of all memories, (B, S, D) each, with concatenated positions."""
        keys, values = self.prepare(memories[self.names[0]])
        for name, layer in self.further.items():
            more = layer(memories[name]).chunk(2, -1)
            keys, values = (
                torch.cat([one, self.split(other)], 2)
                for one, other in zip((keys, values), more, strict=True)
            )
        return keys, values


@remember
class DecoderLayer(nn.Module):
    """Self-attention, attention over the memories, the feed-forward network, each in a residual connection."""

    def __init__(
        self,
        size: int,
        heads: int,
        hidden: int,
        norm: Norm,
        *,
        sources: Mapping[str, Source],
        dropout: float,
        distances: int | None = None,
    ) -> None:
        super().__init__()
        self.itself = MultiHead(size, heads, dropout=dropout, distances=distances, causal=True)
        self.over = MemoryAttention(size, heads, sources=sources, dropout=dropout)
        self.feed = FeedForward(size, hidden, dropout=dropout)
        self.first, self.second, self.third = (Residual(size, norm, dropout=dropout) for _ in range(3))

    def forward(self, x: Tensor, prepared: Prepared, mask: Tensor) -> Tensor:
        """x (B, T, D) of a whole output, mask (B, S)."""
        seen = self.first.enter(x)
        x = self.first(x, self.itself(seen, self.itself.prepare(seen)))
        x = self.second(x, self.over(self.second.enter(x), prepared, mask[:, None, None]))
        fed: Tensor = self.third(x, self.feed(self.third.enter(x)))
        return fed

    def step(
        self,
        x: Tensor,
        written: Prepared,
        prepared: Prepared,
        mask: Tensor,
        imposed: Imposed | None = None,
        position: int = 0,
    ) -> tuple[Tensor, Prepared, Tensor]:
        """x (B, K, D) of one position → x after the layer, the extended keys and values,
        looks (B, H, K, S)."""
        B, K, _ = x.shape
        seen = self.first.enter(x)
        keys, values = (
            torch.cat([before, now.reshape(B, K, *now.shape[1:])], 3)
            for before, now in zip(written, self.itself.prepare(seen.reshape(B * K, 1, -1)), strict=True)
        )  # (B, K, H, t + 1, d)
        read = self.itself(seen.reshape(B * K, 1, -1), (keys.flatten(0, 1), values.flatten(0, 1)))
        x = self.first(x, read.reshape(B, K, -1))
        asked = self.second.enter(x)
        looks = self.over.weights(asked, prepared[0], mask[:, None, None])
        if imposed is not None:
            looks = imposed.on(looks, position)  # the same for all heads
        found = self.over.output((looks @ prepared[1]).transpose(1, 2).flatten(2))
        x = self.second(x, found)
        return self.third(x, self.feed(self.third.enter(x))), (keys, values), looks
