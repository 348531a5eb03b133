"""A bag of words, with optional weights for the positions of the words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.embedding import EMBEDDINGS, Embedding, EmbeddingOptions, build_embedding, check_dropout
from regard.nn.encoders.encoder import Encoder, refuse_unread
from regard.nn.encoders.text import embedding_note
from regard.nn.letters import Letters
from regard.nn.memory import Memory
from regard.nn.path import Replaces
from regard.parts import Mistakes, Plan, nearest, register

FEW_WORDS = 1024
"""Largest vocabulary for which a sum of embeddings is computed as a product of counts and the
embedding table."""


def position_encoding(lengths: Tensor, longest: int, size: int) -> Tensor:
    """l_jd = (1 − j/n) − (d/D)(1 − 2j/n), j = 1 … n and d = 1 … D (Sukhbaatar et al. 2015, section 4.1).

    lengths   (B) n; the result is (B, longest, size), zero for padding
    """
    constant, slope = _position_parts(lengths, longest)
    features = torch.arange(1, size + 1, device=lengths.device) / size  # (D)
    return constant.unsqueeze(-1) + features * slope.unsqueeze(-1)  # (B, L, D)


def _position_parts(lengths: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """(B, L) each: l_jd = constant_j + (d/D) slope_j."""
    places = torch.arange(1, longest + 1, device=lengths.device)
    inside = places <= lengths.unsqueeze(-1)
    share = places / lengths.clamp(min=1).unsqueeze(-1)
    return (1 - share) * inside, (2 * share - 1) * inside


def position_line(weight: str, index: str, length: str) -> str:
    """The equation of `position_encoding`."""
    place = f"{index}/{length}"
    return f"{weight} = 1 − {place} − (1 − 2{place}) η     — η = (1/D, 2/D, …, 1), D features"


@register("encoder", "bag")
class BagEncoder(Encoder):
    """values e(x_j), summary Σ_j l_j ⊙ e(x_j); all l_j are 1 without `position`."""

    class Options(EmbeddingOptions):
        """The sum of the embeddings, weighted by position, as memory networks read a question."""

        position: bool = True
        """Weight each feature by the position of the word in the sentence (Sukhbaatar 2015)."""
        like: str | None = None
        """Use the embeddings of this story's keys; the two inputs must share a vocabulary."""

    by_word = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> BagEncoder:
        return cls(build_embedding(options, column, read_files=read_files), position=options.position)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        weight = "λ_j ⊙ " if options.position else ""
        return [
            "j = 1 … S",
            "h_j = E_x[w_j]",
            *([position_line("λ_j", "j", "S")] if options.position else []),
            f"h = Σ_j {weight}h_j     — the summary",
            f"— {embedding_note(options)}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return {"embedding.weight": "E_x"}

    @classmethod
    def borrowed(cls, options: Any) -> Mapping[str, str]:
        return {} if options.like is None else {"E_x": options.like}

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_dropout(options, mistakes)
        refuse_unread(options, ["position"], plan, mistakes, summary=True)
        other = options.like
        if other is None:
            return
        stories = [story for story, encoder in plan.encoder.items() if encoder.type == "story"]
        if other not in stories:
            if other in plan.encoder and plan.inputs[other].part.of_sentences:
                return  # the encoder of that input is the mistake
            mistakes.add(f"no input {other!r} has the encoder `story`.", "like", fix=nearest(other, stories))
            return
        there = plan.encoder[other]
        if there.sentence != "bag" or there.width_of_vectors != options.width_of_vectors:
            mistakes.add(
                f"like needs an encoder with sentence: bag and embedding: {options.width_of_vectors}; {other} has "
                f"sentence: {there.sentence} and embedding: {there.width_of_vectors}.",
                "like",
                fix="Change one of the two encoders, or leave like out.",
            )
        mine, theirs = (getattr(plan.inputs[one], "shared", None) or one for one in (name, other))
        if mine != theirs:
            mistakes.add(
                f"like needs one vocabulary for {name} and {other}.",
                "like",
                fix=f"Add  shared: {other}  to the input {name}.",
            )

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.width_of_vectors)

    embedding: Embedding

    def connect(self, options: Any, encoders: Mapping[str, Any]) -> None:
        if options.like is not None:
            self.embedding = encoders[options.like].tables[0].embedding

    def __init__(self, embedding: Embedding, *, position: bool = True) -> None:
        super().__init__()
        self.embedding, self.position = embedding, position
        self.value_size = self.summary_size = embedding.size

    def forward(self, tokens: Tokens) -> Memory:
        return Memory(self.embedding(tokens.ids), tokens.mask, self.sums(tokens))

    def sums(self, tokens: Tokens) -> Tensor:
        """The summaries alone, (B, D)."""
        embedding = self.embedding
        dropped = self.training and (embedding.dropout.p > 0 or embedding.word_dropout > 0)
        if embedding.vocabulary <= FEW_WORDS and not dropped and EMBEDDINGS(embedding):
            return self._by_counts(tokens)
        values: Tensor = self.embedding(tokens.ids)  # (B, L, D), zero at PAD
        if not self.position:
            return (values * tokens.mask.unsqueeze(-1)).sum(1)
        weights = position_encoding(tokens.lengths, tokens.ids.shape[1], self.embedding.size)
        return (values * weights).sum(1)

    def _by_counts(self, tokens: Tokens) -> Tensor:
        """Σ_v (Σ_{j: x_j = v} l_j) ⊙ e(v), with l_j split in two parts."""
        rows, longest = tokens.ids.shape
        table = self.embedding.weight
        if self.position:
            weights = torch.stack(_position_parts(tokens.lengths, longest)).to(table.dtype)  # (2, B, L)
        else:
            weights = tokens.mask.unsqueeze(0).to(table.dtype)
        counts = weights.new_zeros(len(weights), rows, len(table)).scatter_add(
            2, tokens.ids.expand(len(weights), -1, -1), weights
        )
        parts = counts @ table  # (1 or 2, B, D)
        if not self.position:
            return parts[0]
        features = torch.arange(1, table.shape[1] + 1, device=table.device) / table.shape[1]
        return parts[0] + features * parts[1]


BAGS = Replaces(BagEncoder, methods=("forward",))
"""The encoders whose summaries alone can be computed, by `sums`."""
