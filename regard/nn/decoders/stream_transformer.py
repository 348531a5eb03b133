"""The Transformer as a language model: every token attends to the tokens before it (Vaswani 2017, Radford 2018).

    x_t⁰ = √D e(y_{t−1})
    x ← x + attend(x_t; x_{t−R+1} … x_t)     self-attention over the last R tokens, with rotary positions
    x ← x + feed(x)
    p(y_t) = softmax(V x_t + b)

A token attends to the last R = `reach` tokens in each layer, so that through L layers it depends on L (R − 1) + 1 of
them. The keys and values of the last R − 1 tokens are carried from span to span. A text that is read in spans of any
length, or token by token, thus has the same probabilities. The gradient ends at the beginning of a span, as in
Transformer-XL (Dai 2019).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.decoders.continuing import Carried, ContinuingDecoder
from regard.nn.decoders.stream_layer import StreamLayer
from regard.nn.embedding import Embedding, build_embedding
from regard.nn.letters import Letters, linear, under
from regard.nn.symbols import MemorySymbols
from regard.nn.transformer_board import (
    NORM_LINE,
    HeadsSymbols,
    around,
    feed,
    feed_letters,
    first_letters,
    heads_letters,
    normed,
    scaled_vector,
    sizes_line,
)
from regard.nn.transformer_layers import check_heads
from regard.nn.watching import heads_kept
from regard.parts import Mistakes, Plan

REACH = 256
"""Default number of tokens that a token attends to."""
OF_TEXTS = {
    "positions": "a stream has no first position; its positions are relative.",
    "label_smoothing": "it applies to texts with an input.",
}
"""Options of a `transformer` decoder that have no effect in a stream."""
ROTATED = (
    "— R_t: a matrix that turns pairs of features by t / 10000^{2i/d}, so that energies depend on t − υ alone"
)


class StreamTransformer(ContinuingDecoder):
    """p(y_t | y_<t) = softmax(V x_t + b); what `decoder: {type: transformer}` makes for a stream.

    The state: the number of cached positions (B,), and for each layer the keys and values (B, H, R − 1, d) of the last
    positions.
    """

    looks_at_itself = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> StreamTransformer:
        embedding = build_embedding(options, column, read_files=read_files)
        embedding.word_dropout = options.word_dropout
        return cls(embedding, options, column.size)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_heads(options, mistakes)
        for key, reason in OF_TEXTS.items():
            if key in options.model_fields_set:
                mistakes.add(f"{key} has no effect: {reason}", key, fix=f"Leave {key} out.")
        if options.tie == "all":
            mistakes.add(
                "tie: all shares the embeddings of the inputs, and a stream has none.",
                "tie",
                fix="Use tie: output.",
            )
        if options.distances is not None and options.distances >= (options.reach or REACH):
            mistakes.add(
                f"distances must be below reach, which is {options.reach or REACH}; received {options.distances}.",
                "distances",
                fix=f"Set  distances: {(options.reach or REACH) - 1}, or raise reach.",
            )
        super().check(_shared(options), name, plan, mistakes)

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        norm, last, reach = options.norm, options.layers, options.reach or REACH
        before = norm == "pre"
        itself = HeadsSymbols(
            options,
            "u_ℓt",
            "u_ℓυ",
            "t",
            "υ",
            "ℓ",
            "k",
            letters=("ρ", "β", "n"),
            mark="y",
            where=f"t − {reach} < υ ≤ t",
            itself=True,
            turn="R",
        )
        state = f"layernorm(s_{last}t, g_y, c_y)" if before else f"s_{last}t"
        dropout = f"; a token is read as unknown with probability {options.word_dropout:g} in training"
        return [
            "t = 1 … T     — y_0: the previous token; at the beginning of the text the begin token",
            f"υ = 1 … T, ℓ = 1 … {last}, k = 1 … {options.heads}     — k: the heads",
            f"— positions before the span are cached: a token attends to the last {reach} tokens, itself included",
            f"s_0t = {scaled_vector('E_y[y_{t−1}]', options.width_of_vectors, options, 's')}",
            f"u_ℓt = {normed('s_{ℓ−1,t}', 'y1ℓ') if before else 's_{ℓ−1,t}'}",
            *itself.lines(),
            ROTATED,
            f"v_ℓt = {around('s_{ℓ−1,t}', itself.together(), 'y1ℓ', norm)}",
            f"s_ℓt = {around('v_ℓt', feed('v_ℓt', 'ℓ', 'y2ℓ', norm, 'y'), 'y2ℓ', norm)}",
            *cls.board_output(_shared(options), state),
            NORM_LINE,
            sizes_line(options) + (dropout if options.word_dropout else ""),
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        layers = {**heads_letters("itself", "y", "ℓ", "k"), **feed_letters("ℓ", "y")}
        for number, path in enumerate(("first", "second"), start=1):
            layers |= linear(f"{path}.norm", f"g_{{y,{number},ℓ}}", f"b_{{y,{number},ℓ}}")
        ends = linear("norm", "g_y", "c_y") | first_letters("s")
        return super().letters(_shared(options), memories) | under("layers.*", layers) | ends

    def __init__(self, embedding: Embedding, options: Any, vocabulary: int) -> None:
        super().__init__(embedding, _shared(options), vocabulary)
        size = options.size
        self.reach = int(options.reach or REACH)
        self.heads, self.scale = options.heads, embedding.size**0.5
        self.widen = None if embedding.size == size else nn.Linear(embedding.size, size)
        given = options.attention_dropout
        self.layers = nn.ModuleList(
            StreamLayer(
                size,
                options.heads,
                options.hidden or 4 * size,
                options.norm,
                dropout=options.dropout,
                attention_dropout=options.dropout if given is None else given,
                distances=options.distances,
            )
            for _ in range(options.layers)
        )
        self.norm = nn.LayerNorm(size) if options.norm == "pre" else None

    def start(self, rows: int) -> Carried:
        like = self.output_weight
        width = self.size // self.heads
        cached = like.new_zeros(rows, self.heads, self.reach - 1, width)
        none = torch.zeros(rows, dtype=torch.int64, device=like.device)
        return (none, *(cached.clone() for _ in range(2 * len(self.layers))))

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight

    @property
    def size(self) -> int:
        """Features of each position."""
        first: Any = self.layers[0]
        return int(first.itself.query.in_features)

    def forward(self, before: Tensor, state: Carried) -> tuple[Tensor, Carried]:
        found = []
        for piece in before.split(max(self.reach, 2), 1):  # not longer than the reach: the others are masked
            hidden, state = self._piece(piece, state)
            found.append(hidden)
        return (found[0] if len(found) == 1 else torch.cat(found, 1)), state

    def _piece(self, tokens: Tensor, state: Carried) -> tuple[Tensor, Carried]:
        known, *cached = state
        count, kept = tokens.shape[1], self.reach - 1
        x, mask = self._embed(tokens), self._mask(count, known)
        following: list[Tensor] = []
        for layer, keys, values in zip(self._layers(), cached[::2], cached[1::2], strict=True):
            x, keys, values = layer(x, keys, values, mask)
            following += [keys.narrow(2, count, kept), values.narrow(2, count, kept)]
        return self._finish(x), ((known + count).clamp(max=kept), *following)

    def _mask(self, count: int, known: Tensor) -> Tensor:
        """(B, 1, T, R−1+T) True where a token may look, given the number of cached positions."""
        kept = self.reach - 1
        places = torch.arange(kept + count, device=known.device)
        apart = places[kept:, None] - places  # (T, S)
        near = (apart >= 0) & (apart < self.reach)
        found: Tensor = (near & (places >= kept - known[:, None, None])).unsqueeze(1)
        return found

    def _embed(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) * self.scale
        found: Tensor = x if self.widen is None else self.widen(x)
        return found

    def _finish(self, x: Tensor) -> Tensor:
        finished: Tensor = x if self.norm is None else self.norm(x)
        return finished

    def _layers(self) -> Iterator[Any]:
        return iter(self.layers)

    @torch.no_grad()
    def self_looks(self, before: Tensor) -> dict[str, Tensor]:
        """{layer: (B, H, T, T)}: where each of the previous tokens (B, T) of a whole text looked."""
        places = torch.arange(before.shape[1], device=before.device)
        apart = places[:, None] - places
        mask = ((apart >= 0) & (apart < self.reach))[None, None]
        x, found = self._embed(before), {}
        for number, layer in enumerate(self._layers(), 1):
            name = f"layer {number}"
            if heads_kept(name):
                found[name] = layer.looks(x, mask)
            nothing = x.new_zeros(len(x), self.heads, 0, self.size // self.heads)
            x, _, _ = layer(x, nothing, nothing, mask)
        return found


def _shared(options: Any) -> ContinuingDecoder.Options:
    """The options that all decoders of streams have."""
    tie: Any = "none" if options.tie == "all" else options.tie
    return ContinuingDecoder.Options(
        size=options.size,
        tie=tie,
        embedding=options.embedding,
        dropout=options.dropout,
    )
