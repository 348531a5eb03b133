"""Smoothed embeddings: each value is the mean of the words around it (Rush, Chopra and Weston 2015)."""

from __future__ import annotations

from typing import Any

from torch import nn

from regard.data.batch import Tokens
from regard.nn.embedding import TokenVectors, check_dropout
from regard.nn.encoders.encoder import refuse_unread
from regard.nn.encoders.mean import masked_mean
from regard.nn.encoders.text import (
    TextEncoder,
    build_word_embedding,
    embedding_note,
    parents_lines,
    word_vector,
)
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Count, Mistakes, Plan, register


@register("encoder", "smoothed")
class SmoothedEncoder(TextEncoder):
    """keys κ_s = e(x_s), values h_s = Σ_{|i − s| ≤ Q} κ_i / (2Q + 1), summary Σ_s κ_s / n.

    Attention scores the word itself, and reads it with its neighbors: the attention-based encoder of ABS
    (Rush et al. 2015, equation 5). Positions beyond the ends of a text count as zero.
    """

    class Options(TextEncoder.Options):
        """The embeddings as keys; each value is the mean of the embeddings around it (Rush 2015)."""

        window: Count = 2
        """Number of words on either side that enter the mean."""

    keyed = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> SmoothedEncoder:
        return cls(build_word_embedding(options, column, read_files=read_files), window=options.window)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        check_dropout(options, mistakes)
        refuse_unread(options, ["window"], plan, mistakes)

    @classmethod
    def width(cls, options: Any) -> int | None:
        characters = 0 if options.characters is None else options.characters.size
        return int(options.width_of_vectors + characters)

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        found = super().symbols(options)
        return MemorySymbols(found.values, keys="κ_j", gain=found.gain)

    @classmethod
    def written_gain(cls, options: Any) -> int:
        return cls.width(options) or 1

    @classmethod
    def board(cls, options: Any) -> list[str]:
        window = options.window
        return [
            "j = 1 … S, ν = 1 … S",
            f"κ_j = {word_vector(options)}     — the keys",
            f"h_j = Σ_{{ν: |ν − j| ≤ {window}}} κ_ν / {2 * window + 1}     — the values",
            "h = Σ_j κ_j / S     — the summary",
            f"— {embedding_note(options)}",
            *parents_lines(options, cls.written_gain(options)),
        ]

    def __init__(self, embedding: TokenVectors, *, window: int = 2) -> None:
        super().__init__()
        self.embedding, self.window = embedding, window
        self.value_size = self.summary_size = self.key_size = embedding.size
        self.gain = embedding.size**0.5

    def forward(self, tokens: Tokens) -> Memory:
        mask = tokens.mask
        keys = self.embedding.read(tokens) * mask.unsqueeze(-1)
        around = nn.functional.avg_pool1d(
            keys.transpose(1, 2), 2 * self.window + 1, stride=1, padding=self.window
        ).transpose(1, 2)
        return Memory(around * mask.unsqueeze(-1), mask, masked_mean(keys, mask), keys=keys)
