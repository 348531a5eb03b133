"""The Transformer encoder: in each layer every position attends to all positions (Vaswani et al. 2017).

    x_j⁰ = √D e(w_j) + p_j
    pre    x ← x + attend(norm(x)),   x ← x + feed(norm(x)),   norm at the end     (learns without warm-up)
    post   x ← norm(x + attend(x)),   x ← norm(x + feed(x))                        (as published)

`attend` and `feed` are defined in `regard.nn.transformer_layers`.
"""

from __future__ import annotations

from typing import Any

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
from regard.nn.letters import Letters, linear, under
from regard.nn.memory import Memory
from regard.nn.path import faster
from regard.nn.transformer_board import (
    NORM_LINE,
    HeadsSymbols,
    around,
    feed,
    feed_letters,
    first_letters,
    first_line,
    heads_letters,
    normed,
    sizes_line,
)
from regard.nn.transformer_layers import (
    SMALL,
    WARMUP,
    FeedForward,
    MultiHead,
    Norm,
    Positions,
    PositionVectors,
    Residual,
    TransformerOptions,
    check_heads,
)
from regard.nn.watching import heads_kept
from regard.parts import Mistakes, Plan, register
from regard.parts.definition import remember


@remember
class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each in a residual connection."""

    def __init__(
        self, size: int, heads: int, hidden: int, norm: Norm, *, dropout: float, distances: int | None = None
    ) -> None:
        super().__init__()
        self.attention = MultiHead(size, heads, dropout=dropout, distances=distances)
        self.attended = Residual(size, norm, dropout=dropout)
        self.feed = FeedForward(size, hidden, dropout=dropout)
        self.fed = Residual(size, norm, dropout=dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        seen = self.attended.enter(x)
        x = self.attended(x, self.attention(seen, self.attention.prepare(seen), mask))
        fed: Tensor = self.fed(x, self.feed(self.fed.enter(x)))
        return fed

    def looks(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, H, S, S)"""
        seen = self.attended.enter(x)
        return self.attention.weights(seen, self.attention.prepare(seen)[0], mask)


@register("encoder", "transformer")
class TransformerEncoder(TextEncoder):
    """The states of the last layer as memory, their mean as summary."""

    small = SMALL
    warmup = WARMUP
    looks_at_itself = True
    layers_as_published = True
    """Other programs can compute the layers from the weights."""

    class Options(TextEncoder.Options, TransformerOptions):
        """In each layer every position attends to all positions (Vaswani 2017)."""

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> TransformerEncoder:
        return cls(
            build_word_embedding(options, column, read_files=read_files),
            size=options.size,
            layers=options.layers,
            heads=options.heads,
            hidden=options.hidden,
            positions=options.positions,
            distances=options.distances,
            norm=options.norm,
            dropout=options.dropout,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        check_heads(options, mistakes)

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.size)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        before, last = options.norm == "pre", options.layers
        looks = HeadsSymbols(
            options, "x_lj", "x_lm", "j", "m", "l", "η", letters=("ε", "π", "f"), itself=True
        )
        written = word_vector(options)
        characters = 0 if options.characters is None else options.characters.size
        width = options.width_of_vectors + characters
        return [
            f"j = 1 … S, m = 1 … S, l = 1 … {last}, η = 1 … {options.heads}     — η: the heads",
            first_line("h_0j", written, width, options, "x", "j"),
            f"x_lj = {normed('h_{l−1,j}', 'al') if before else 'h_{l−1,j}'}",
            *looks.lines(),
            f"r_lj = {around('h_{l−1,j}', looks.together(), 'al', options.norm)}",
            f"h_lj = {around('r_lj', feed('r_lj', 'l', 'fl', options.norm), 'fl', options.norm)}",
            f"h_j = {normed(f'h_{last}j', 'z') if before else f'h_{last}j'}",
            "h = Σ_j h_j / S     — the summary",
            NORM_LINE,
            sizes_line(options) + f", {embedding_note(options)}",
            *parents_lines(options),
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        layers = {
            **linear("attended.norm", "g_al", "b_al"),
            **linear("fed.norm", "g_fl", "b_fl"),
            **heads_letters("attention", "", "l", "η"),
            **feed_letters("l"),
        }
        ends = linear("norm", "g_z", "b_z") | first_letters("x")
        return super().letters(options) | under("layers.*", layers) | ends

    def __init__(
        self,
        embedding: TokenVectors,
        *,
        size: int = 256,
        layers: int = 3,
        heads: int = 4,
        hidden: int | None = None,
        positions: Positions = "sinusoidal",
        distances: int | None = None,
        norm: Norm = "pre",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding, self.value_size, self.summary_size = embedding, size, size
        self.scale = embedding.size**0.5
        self.widen = None if embedding.size == size else nn.Linear(embedding.size, size)
        self.positions = PositionVectors(positions, size)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(size, heads, hidden or 4 * size, norm, dropout=dropout, distances=distances)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size) if norm == "pre" else None

    def _start(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """x⁰ (B, S, D), and the mask of the allowed positions, (B, 1, 1, S)."""
        x = self.embedding.read(tokens) * self.scale
        x = x if self.widen is None else self.widen(x)
        places = torch.arange(tokens.ids.shape[1], device=tokens.ids.device)
        return self.dropout(x + self.positions(places).to(x.dtype)), tokens.mask[:, None, None]

    def forward(self, tokens: Tokens) -> Memory:
        x, mask = self._start(tokens)
        found: Tensor | None = faster("transformer.layers", x.device, self, (x, mask))
        (x,) = self.through(x, mask) if found is None else (found,)
        x = x * tokens.mask.unsqueeze(-1)  # padding is zero
        return Memory(x, tokens.mask, masked_mean(x, tokens.mask))

    def through(self, x: Tensor, mask: Tensor) -> tuple[Tensor]:
        """All layers: x (B, S, D), mask (B, 1, 1, S)."""
        for layer in self.layers:
            x = layer(x, mask)
        return (x if self.norm is None else self.norm(x),)

    @torch.no_grad()
    def self_looks(self, collated: Tokens) -> dict[str, Tensor]:
        x, mask = self._start(collated)
        found = {}
        layers: list[Any] = list(self.layers)
        for number, layer in enumerate(layers, 1):
            name = f"encoder layer {number}"
            if heads_kept(name):
                found[name] = layer.looks(x, mask)
            x = layer(x, mask)
        return found
