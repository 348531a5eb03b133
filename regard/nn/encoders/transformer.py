"""The Transformer encoder: every position looks at all others, layer after layer (Vaswani et al. 2017).

    x_j⁰ = √D e(w_j) + p_j
    head_k(x)_j = Σ_m softmax_m(Q_k x_j · K_k x_m / √d) V_k x_m,      k = 1 … H,  d = D/H
    attend(x)   = O [head_1; …; head_H] + o
                  with `distances`, each head adds a learned score of its own for m − j within the softmax
    feed(x)     = W₂ relu(W₁ x + b₁) + b₂

    pre    x ← x + attend(norm(x)),   x ← x + feed(norm(x)),   norm at the end     (learns without warm-up)
    post   x ← norm(x + attend(x)),   x ← norm(x + feed(x))                        (as published)

The products are torch's own (`scaled_dot_product_attention`), which keep no table of weights; the weights of every head
are computed beside them where a trace asks for them. For short sequences on CUDA plain products take their place:
torch's kernel works in tiles of 64 positions, most of which a word of eight letters leaves empty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.kernels.buckets import rounded, rounded_rows
from regard.kernels.replayed_gradient import replayed
from regard.nn.embedding import TokenVectors
from regard.nn.encoders.mean import masked_mean
from regard.nn.encoders.text import (
    TextEncoder,
    build_word_embedding,
    embedding_note,
    parents_lines,
    word_vector,
)
from regard.nn.memory import Memory
from regard.nn.symbols import side_by_side
from regard.parts import Depth, Mistakes, Plan, Size, register

Positions = Literal["sinusoidal", "learned"]
Norm = Literal["pre", "post"]
LEARNED_POSITIONS = 1024
"""Of the table of learned positions; its last row serves all beyond."""
SHORT = 32 * 32
"""Up to so many pairs of positions, plain products are quicker on CUDA than torch's own attention."""


class MultiHead(nn.Module):
    """O [head_1; …; head_H] + o with Q, K, V of all heads as one matrix each.

    Queries (B, T, D) and prepared keys and values (B, H, S, d), computed once per sequence by `prepare`.

    distances   a learned score of each head for m − j, up to so far on either side; farther ones share the last
    causal      only what is not after a position may be looked at: distances have one side
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
        """query (B, T, D), mask (B, 1, 1 or T, S) True where a position may be looked at → (B, T, D).

        Where it is causal, the queries are those of the last T positions.
        """
        asked, (keys, values) = self.split(self.query(query)), prepared
        dropout = self.dropout if self.training else 0.0
        if query.is_cuda and asked.shape[2] * keys.shape[2] <= SHORT:
            weights = torch.softmax(self.energies(asked, keys, mask), -1)
            read = nn.functional.dropout(weights, dropout, self.training) @ values
        else:
            causal = self.causal and self.distances is None and asked.shape[2] > 1
            if self.distances is not None:
                allowed = self._before(asked, keys) if self.causal else mask
                mask = self._distance(asked, keys).unsqueeze(0)
                mask = mask if allowed is None else mask.masked_fill(~allowed, float("-inf"))
            read = nn.functional.scaled_dot_product_attention(
                asked, keys, values, attn_mask=mask, is_causal=causal, dropout_p=dropout
            )
        written: Tensor = self.output(read.transpose(1, 2).flatten(2))
        return written

    def weights(self, query: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, H, T, S) what each head looks at."""
        return torch.softmax(self.energies(self.split(self.query(query)), keys, mask), -1)

    def energies(self, asked: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """asked (B, H, T, d), keys (B, H, S, d) → (B, H, T, S), where nothing may be looked at the lowest number."""
        scores: Tensor = asked @ keys.transpose(-1, -2) * self.scale
        if self.distances is not None:
            scores = scores + self._distance(asked, keys)
        if self.causal:
            before = self._before(asked, keys)
            mask = before if mask is None else mask & before
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return scores

    def _apart(self, asked: Tensor, keys: Tensor) -> Tensor:
        """m − j, (T, S); where it is causal, the queries are at the last positions."""
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


class FeedForward(nn.Sequential):
    """W₂ relu(W₁ x + b₁) + b₂."""

    def __init__(self, size: int, hidden: int, *, dropout: float = 0.0) -> None:
        super().__init__(nn.Linear(size, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, size))
        for layer in (self[0], self[3]):
            nn.init.xavier_uniform_(layer.weight)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]


class Residual(nn.Module):
    """x + f(norm(x)), or norm(x + f(x)): where the normalization of a step stands."""

    def __init__(self, size: int, norm: Norm, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm, self.before = nn.LayerNorm(size), norm == "pre"
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        """What f sees of x."""
        seen: Tensor = self.norm(x) if self.before else x
        return seen

    def forward(self, x: Tensor, found: Tensor) -> Tensor:
        """x and f of what it saw."""
        together: Tensor = x + self.dropout(found)
        normed: Tensor = together if self.before else self.norm(together)
        return normed


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


def in_bucket(x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, ...]:
    """On CUDA, rows and positions up to the next bucket, so that few shapes are recorded; elsewhere as they are.

    x (B, S, D), mask (B, 1, 1, S): of the rows that were added the first position may be looked at.
    """
    if x.is_cuda and torch.is_grad_enabled():
        rows, count, _ = x.shape
        more, further = rounded_rows(rows) - rows, rounded(count, 8, 8) - count
        x = nn.functional.pad(x, (0, 0, 0, further, 0, more))
        if mask is not None:
            mask = nn.functional.pad(mask, (0, further, 0, 0, 0, 0, 0, more))
            mask[rows:, ..., 0] = True
    return (x,) if mask is None else (x, mask)


@register("encoder", "transformer")
class TransformerEncoder(TextEncoder):
    """The states of the last layer as memory, their mean as summary."""

    class Options(TextEncoder.Options):
        """Every position looks at all others, layer after layer (Vaswani 2017)."""

        size: Size = 256
        """Features of a position."""
        layers: Depth = 3
        """Layers on top of each other."""
        heads: Depth = 4
        """Looks of a layer; `size` is divided among them."""
        hidden: Size | None = None
        """Of the feed-forward networks; default: four times the size."""
        positions: Positions = "sinusoidal"
        """How a position knows where it is: by sines and cosines, or by a learned vector."""
        distances: Depth | None = None
        """Each head has a learned score for every distance between two positions up to this one; farther ones share
        the last (Shaw 2018, Raffel 2020)."""
        norm: Norm = "pre"
        """Where each step is normalized: before it, or after it as published."""

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
        width = options.embedding + characters
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
        """x⁰ (B, S, D), and which positions may be looked at, (B, 1, 1, S)."""
        x = self.embedding.read(tokens) * self.scale
        x = x if self.widen is None else self.widen(x)
        places = torch.arange(tokens.ids.shape[1], device=tokens.ids.device)
        return self.dropout(x + self.positions(places).to(x.dtype)), tokens.mask[:, None, None]

    def forward(self, tokens: Tokens) -> Memory:
        x, mask = self._start(tokens)
        rows, count, _ = x.shape
        (x,) = replayed(self, self._through, *in_bucket(x, mask))
        x = x[:rows, :count]
        x = x * tokens.mask.unsqueeze(-1)  # nothing of the padding is left
        return Memory(x, tokens.mask, masked_mean(x, tokens.mask))

    def _through(self, x: Tensor, mask: Tensor) -> tuple[Tensor]:
        """All layers: x (B, S, D), mask (B, 1, 1, S)."""
        for layer in self.layers:
            x = layer(x, mask)
        return (x if self.norm is None else self.norm(x),)

    @torch.no_grad()
    def self_looks(self, collated: Tokens) -> dict[str, Tensor]:
        x, mask = self._start(collated)
        found = {}
        for number, layer in enumerate(self.layers, 1):
            found[f"encoder layer {number}"] = layer.looks(x, mask)  # type: ignore[operator]
            x = layer(x, mask)
        return found


NORM_LINE = "layernorm(x, g, b) = g ⊙ (x − mean(x)) / √(mean((x − mean(x))²) + 0.00001) + b"


@dataclass(frozen=True)
class HeadsSymbols:
    """How the heads of a layer are written: energies ε_lηjm, weights π_lηj, what is read f_lηj.

    query, key   what asks and what is looked at, with the indices `at` and `over`
    layer, head  the indices of layers and heads
    mark         below the weights, before those of layer and head
    where        the positions that may be looked at, where not all may: `υ ≤ t`
    itself       whether a sequence looks at itself
    """

    options: Any
    query: str
    key: str
    at: str
    over: str
    layer: str
    head: str
    letters: tuple[str, str, str]
    mark: str = ""
    where: str = ""
    itself: bool = False

    @property
    def energy(self) -> str:
        return f"{self.letters[0]}_{self.layer}{self.head}{self.at}{self.over}"

    @property
    def weight(self) -> str:
        return f"{self.letters[1]}_{self.layer}{self.head}{self.at}{self.over}"

    @property
    def read(self) -> str:
        return f"{self.letters[2]}_{self.layer}{self.head}{self.at}"

    def projected(self, letter: str, what: str) -> str:
        """`(Q_lη x_lj + b_Qlη)`; what asks is the same for all memories."""
        mark = self.mark.strip("′") if letter == "Q" else self.mark
        below = f"{mark}{self.layer}{self.head}"
        return f"({letter}_{below} {what} + b_{letter}{below})"

    def energy_line(self) -> str:
        scale = self.options.size // self.options.heads
        asked, found = self.projected("Q", self.query), self.projected("K", self.key)
        return f"{self.energy} = {asked}·{found} / √{scale}{self.distance()}"

    @property
    def distances(self) -> str:
        """The table of learned scores of distances, where a sequence looks at itself and has one."""
        return f"D_{self.mark}{self.layer}{self.head}" if self.itself and self.options.distances else ""

    def distance(self) -> str:
        """The learned score of how far apart the two are."""
        far = self.options.distances
        if not self.distances:
            return ""
        if self.where:
            return f" + {self.distances}[min({self.at} − {self.over}, {far}) + 1]"
        return f" + {self.distances}[min(max({self.over} − {self.at}, −{far}), {far}) + {far + 1}]"

    def lines(self) -> list[str]:
        below = f"{{{self.over}: {self.where}}}" if self.where else self.over
        weights = f"{self.letters[1]}_{self.layer}{self.head}{self.at}"
        return [
            self.energy_line(),
            *([f"— {self.distances}: a learned score for each distance"] if self.distances else []),
            f"{weights} = softmax_{below}({self.energy})",
            f"{self.read} = Σ_{self.over} {self.weight} {self.projected('V', self.key)}",
        ]

    def together(self) -> str:
        """What all heads read, in the features of a position."""
        below, heads = f"{self.mark}{self.layer}", self.options.heads
        reads = [f"{self.letters[2]}_{self.layer}{head}{self.at}" for head in range(1, heads + 1)]
        whole = side_by_side(reads if heads < 3 else [reads[0], "…", reads[-1]])
        return f"O_{below} {whole} + b_O{below}"


def first_line(symbol: str, word: str, width: int, options: Any, mark: str, place: str) -> str:
    """What a position begins with: the vector of its unit and where it is."""
    vector = f"√{width} {word}" if width == options.size else f"√{width} W_{mark} {word} + b_{mark}"
    if options.positions == "learned":
        return f"{symbol} = {vector} + P_{mark}[min({place}, {LEARNED_POSITIONS})]     — P_{mark}: learned"
    waves = "sines and cosines of waves of several lengths"
    return f"{symbol} = {vector} + P_{mark}[{place}]     — P_{mark}: {waves}"


def normed(what: str, below: str) -> str:
    return f"layernorm({what}, g_{below}, b_{below})"


def around(what: str, found: str, below: str, norm: Norm) -> str:
    """A residual connection, normalized behind it where that is not done before."""
    return f"{what} + {found}" if norm == "pre" else normed(f"{what} + {found}", below)


def feed(what: str, layer: str, below: str, norm: Norm, mark: str = "") -> str:
    """The feed-forward network, of what a residual connection lets it see."""
    seen, own = normed(what, below) if norm == "pre" else what, f"{mark}{layer}"
    return f"B_{own} relu(A_{own} {seen} + b_A{own}) + b_B{own}"


def sizes_line(options: Any) -> str:
    dropout = f", dropout {options.dropout}" if options.dropout else ""
    hidden = options.hidden or 4 * options.size
    return f"— {options.size} features, {hidden} in the feed-forward networks{dropout}"


def check_heads(options: Any, mistakes: Mistakes) -> None:
    """The size is divided among the heads."""
    if options.size % options.heads:
        mistakes.add(
            f"size {options.size} cannot be divided among {options.heads} heads.",
            "heads",
            fix=f"Choose a size that is a multiple of {options.heads}.",
        )
