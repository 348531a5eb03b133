"""Encoder of candidates: a vector for each, regardless of their order."""

from __future__ import annotations

from typing import Any

from regard.data.batch import Sentences
from regard.nn.embedding import Embedding, EmbeddingOptions, build_embedding, check_dropout
from regard.nn.encoders.bag import BagEncoder
from regard.nn.encoders.encoder import Encoder
from regard.nn.encoders.mean import masked_mean
from regard.nn.encoders.text import embedding_note
from regard.nn.letters import Letters
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, register


@register("encoder", "candidates")
class CandidatesEncoder(Encoder):
    """values h_j = Σ_m e(w_jm), the sum of the word vectors of candidate j;
    the summary is the mean of the values."""

    class Options(EmbeddingOptions):
        """A vector for each candidate of a row: the sum of its word vectors."""

    reads = ("candidates",)

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> CandidatesEncoder:
        return cls(build_embedding(options, column.words, read_files=read_files))

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_dropout(options, mistakes)

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.width_of_vectors)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        return [
            "j = 1 … S, m = 1 … N_j     — w_jm: word m of candidate j",
            "φ_j = Σ_m E_x[w_jm]",
            "h = Σ_j φ_j / S     — the summary",
            f"— {embedding_note(options)}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return {"bag.embedding.weight": "E_x"}

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        return MemorySymbols("φ_j")

    def __init__(self, embedding: Embedding) -> None:
        super().__init__()
        self.bag = BagEncoder(embedding, position=False)
        self.value_size = self.summary_size = embedding.size

    def forward(self, offered: Sentences) -> Memory:
        values = offered.gather([self.bag.sums(tokens) for tokens in offered.buckets])
        return Memory(values, offered.mask, masked_mean(values, offered.mask), layout="sentences")
