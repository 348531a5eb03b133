"""The mean of embeddings: a bag of words."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.embedding import TokenVectors, check_dropout
from regard.nn.encoders.text import (
    TextEncoder,
    build_word_embedding,
    embedding_note,
    parents_lines,
    word_vector,
)
from regard.nn.memory import Memory
from regard.parts import Mistakes, Plan, register


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the real positions: (B, S, D), (B, S) → (B, D); zero if there are none."""
    total = (values * mask.unsqueeze(-1)).sum(1)
    return total / mask.sum(1, keepdim=True).clamp(min=1)


@register("encoder", "mean")
class MeanEncoder(TextEncoder):
    """values h_s = e(x_s), summary Σ_s h_s / n; with `scaled`, h_s = √D e(x_s).

    Embeddings start with a norm of about one. Scaled, their features have a magnitude of about one, as in
    recurrent states.
    """

    class Options(TextEncoder.Options):
        """The embeddings themselves as memory, their mean as summary."""

        scaled: bool = False
        """Multiply by √embedding, so that features have a magnitude of about one, as in a recurrent state."""

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> MeanEncoder:
        return cls(build_word_embedding(options, column, read_files=read_files), scaled=options.scaled)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        check_dropout(options, mistakes)

    @classmethod
    def width(cls, options: Any) -> int | None:
        characters = 0 if options.characters is None else options.characters.size
        return int(options.width_of_vectors + characters)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        scale = f"√{cls.width(options)} " if options.scaled else ""
        return [
            "j = 1 … S",
            f"h_j = {scale}{word_vector(options)}",
            "h = Σ_j h_j / S     — the summary",
            f"— {embedding_note(options)}",
            *parents_lines(options, cls.written_gain(options)),
        ]

    @classmethod
    def written_gain(cls, options: Any) -> int:
        return 1 if options.scaled else cls.width(options) or 1

    def __init__(self, embedding: TokenVectors, *, scaled: bool = False) -> None:
        super().__init__()
        self.embedding = embedding
        self.value_size = self.summary_size = embedding.size
        root = embedding.size**0.5
        self.scale: float = root if scaled else 1.0
        self.gain = 1.0 if scaled else root

    def forward(self, tokens: Tokens) -> Memory:
        values = self.embedding.read(tokens) * self.scale
        return Memory(values, tokens.mask, masked_mean(values, tokens.mask))
