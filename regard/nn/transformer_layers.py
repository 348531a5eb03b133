"""The building blocks of Transformer layers, for both encoder and decoder (Vaswani et al. 2017).

    head_k(x)_j = Σ_m softmax_m(Q_k x_j · K_k x_m / √d) V_k x_m,      k = 1 … H,  d = D/H
    attend(x)   = O [head_1; …; head_H] + o
                  with `distances`, each head adds its own learned score for m − j within the softmax
    feed(x)     = W₂ relu(W₁ x + b₁) + b₂

Attention uses torch's `scaled_dot_product_attention`, which returns no weights. The weights of each head are
computed separately if a trace needs them. Short sequences on CUDA use plain products instead: torch's kernel
works in tiles of 64 positions, which a word of eight letters leaves mostly empty. On x86 torch's kernel loses
NaN: a row whose scores are all NaN reads 0. `_zero_if_finite` brings it back.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.nn.path import Replaces
from regard.parts import Depth, Mistakes, Options, Size
from regard.parts.definition import remember

Positions = Literal["sinusoidal", "learned"]
Norm = Literal["pre", "post"]
LEARNED_POSITIONS = 1024
"""Rows of the table of learned positions; all later positions share the last row."""
SHORT = 32 * 32
"""Number of pairs of positions up to which plain products are faster on CUDA than torch's attention."""


SMALL = {"size": 128, "embedding": 128, "layers": 2, "heads": 4}
"""Options for some thousand rows."""
WARMUP = 200
"""Number of updates over which the learning rate rises at first: without them, four epochs on 1,500 words to reverse
end at a token error of 0.71, with them at 0.16."""


class TransformerOptions(Options):
    """Options that encoder and decoder share."""

    size: Size = 256
    """Features of each position."""
    layers: Depth = 3
    """Number of stacked layers."""
    heads: Depth = 4
    """Attention heads of each layer; `size` is divided among them."""
    hidden: Size | None = None
    """Hidden features of the feed-forward networks; default: four times the size."""
    positions: Positions = "sinusoidal"
    """Position vectors: fixed sines and cosines, or learned."""
    distances: Depth | None = None
    """Largest distance between two positions that has its own learned score in each head; longer distances
    share the last score (Shaw 2018, Raffel 2020). Default: no scores of distances."""
    norm: Norm = "pre"
    """Layer normalization before each sublayer (pre), or after it as published (post)."""


@remember
class MultiHead(nn.Module):
    """O [head_1; …; head_H] + o with Q, K, V of all heads as one matrix each.

    Queries (B, T, D) and prepared keys and values (B, H, S, d), computed once per sequence by `prepare`.

    distances   largest distance |m − j| with its own learned score in each head; longer ones share the last
    causal      a position sees only itself and earlier ones, so distances have one side
    """

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        key_size: int | None = None,
        dropout: float = 0.0,
        distances: int | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.causal, self.distances = causal, distances
        if distances is not None:
            self.distance = nn.Parameter(torch.zeros(heads, distances + 1 + (0 if causal else distances)))
        self.heads, self.scale = heads, (size // heads) ** -0.5
        self.query, self.output = nn.Linear(size, size), nn.Linear(size, size)
        self.key, self.value = nn.Linear(key_size or size, size), nn.Linear(key_size or size, size)
        self.dropout = dropout
        for layer in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def split(self, rows: Tensor) -> Tensor:
        """(B, T, D) → (B, H, T, d)."""
        split: Tensor = rows.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return split

    def prepare(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a memory, (B, H, S, d) each."""
        return self.split(self.key(memory)), self.split(self.value(memory))

    def forward(self, query: Tensor, prepared: tuple[Tensor, Tensor], mask: Tensor | None = None) -> Tensor:
        """query (B, T, D), mask (B, 1, 1 or T, S) True at allowed positions → (B, T, D).

        If causal, the queries belong to the last T positions.
        """
        asked, (keys, values) = self.split(self.query(query)), prepared
        dropout = self.dropout if self.training else 0.0
        few = query.is_cuda and asked.shape[2] * keys.shape[2] <= SHORT
        if few or not ENERGIES(self):
            weights = torch.softmax(self.energies(asked, keys, mask), -1)
            read = nn.functional.dropout(weights, dropout, self.training) @ values
        else:
            causal = self.causal and self.distances is None and asked.shape[2] > 1
            bias = mask
            if self.distances is not None:
                allowed = self._before(asked, keys) if self.causal else mask
                bias = self._distance(asked, keys).unsqueeze(0)
                bias = bias if allowed is None else bias.masked_fill(~allowed, float("-inf"))
            read = nn.functional.scaled_dot_product_attention(
                asked, keys, values, attn_mask=bias, is_causal=causal, dropout_p=dropout
            )
            if not query.is_cuda:
                read = read + self._zero_if_finite(asked, keys, mask).to(read.dtype)
        written: Tensor = self.output(read.transpose(1, 2).flatten(2))
        return written

    def weights(self, query: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, H, T, S) the attention weights of each head."""
        return torch.softmax(self.energies(self.split(self.query(query)), keys, mask), -1)

    def energies(self, asked: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """asked (B, H, T, d), keys (B, H, S, d) → (B, H, T, S), the lowest number where masked."""
        scores: Tensor = asked @ keys.transpose(-1, -2) * self.scale
        if self.distances is not None:
            scores = scores + self._distance(asked, keys)
        if self.causal:
            before = self._before(asked, keys)
            mask = before if mask is None else mask & before
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return scores

    @torch.no_grad()
    def _zero_if_finite(self, asked: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
        """(B, H, T, 1): 0 · Σ_m |q_j|₁ |k_m|₁ over the allowed m, a bound of the scores |q_j · k_m|. It is NaN
        if a score of position j is NaN or infinite, and else 0. A NaN in the loss needs no gradient from here."""
        wide = torch.promote_types(asked.dtype, torch.float32)  # the bound of finite scores exceeds float16
        asked, keys = (rows.abs().sum(-1, dtype=wide) for rows in (asked, keys))  # (B, H, T), (B, H, S)
        if self.causal:
            seen = keys.cumsum(-1)[..., keys.shape[-1] - asked.shape[-1] :]  # (B, H, T)
        elif mask is not None:
            seen = keys.unsqueeze(2).masked_fill(~mask, 0.0).sum(-1)  # (B, H, 1 or T)
        else:
            seen = keys.sum(-1, keepdim=True)
        bound = asked * seen
        if self.distances is not None:
            bound = bound + self.distance.abs().sum(-1, keepdim=True)
        return bound.unsqueeze(-1) * 0.0

    def _apart(self, asked: Tensor, keys: Tensor) -> Tensor:
        """m − j, (T, S); if causal, the queries belong to the last positions."""
        count, positions = asked.shape[2], keys.shape[2]
        first = positions - count if self.causal else 0
        places = torch.arange(positions, device=keys.device)
        return places - torch.arange(first, first + count, device=keys.device)[:, None]

    def _before(self, asked: Tensor, keys: Tensor) -> Tensor:
        return self._apart(asked, keys) <= 0

    def _distance(self, asked: Tensor, keys: Tensor) -> Tensor:
        """(H, T, S)"""
        assert self.distances is not None
        apart = self._apart(asked, keys)
        if self.causal:
            place = (-apart).clamp(0, self.distances)
        else:
            place = apart.clamp(-self.distances, self.distances) + self.distances
        distance: Tensor = self.distance[:, place].to(asked.dtype)
        return distance


ENERGIES = Replaces(MultiHead, methods=("energies", "_apart", "_before", "_distance"))
"""The methods that torch's attention replaces."""


@remember
class FeedForward(nn.Sequential):
    """W₂ relu(W₁ x + b₁) + b₂."""

    def __init__(self, size: int, hidden: int, *, dropout: float = 0.0) -> None:
        super().__init__(nn.Linear(size, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, size))
        for layer in (self[0], self[3]):
            nn.init.xavier_uniform_(layer.weight)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]


@remember
class Residual(nn.Module):
    """x + f(norm(x)) with norm pre, norm(x + f(x)) with norm post."""

    def __init__(self, size: int, norm: Norm, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm, self.before = nn.LayerNorm(size), norm == "pre"
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        """The input of f."""
        seen: Tensor = self.norm(x) if self.before else x
        return seen

    def forward(self, x: Tensor, found: Tensor) -> Tensor:
        """Add found = f(enter(x)) to x."""
        together: Tensor = x + self.dropout(found)
        normed: Tensor = together if self.before else self.norm(together)
        return normed


@remember
class PositionVectors(nn.Module):
    """p_j: sin and cos of j / 10000^{2i/D} for feature pairs i, or a learned vector for each j."""

    table: Tensor

    def __init__(self, kind: Positions, size: int) -> None:
        super().__init__()
        self.kind, self.size = kind, size
        if kind == "learned":
            self.learned = nn.Parameter(torch.randn(LEARNED_POSITIONS, size) * size**-0.5)

    def forward(self, places: Tensor) -> Tensor:
        """places (…) int64 → (…, D)."""
        if self.kind == "learned":
            learned: Tensor = self.learned
            return learned[places.clamp(max=LEARNED_POSITIONS - 1)]
        half = torch.arange(0, self.size, 2, device=places.device)
        angles = places.unsqueeze(-1) * torch.exp(half * (-math.log(10000.0) / self.size))  # (…, D/2)
        pairs: Tensor = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
        return pairs.narrow(-1, 0, self.size)


def check_heads(options: Any, mistakes: Mistakes) -> None:
    """Require a size that is divisible by the number of heads."""
    if options.size % options.heads:
        mistakes.add(
            f"size {options.size} cannot be divided among {options.heads} heads.",
            "heads",
            fix=f"Choose a size that is a multiple of {options.heads}.",
        )
