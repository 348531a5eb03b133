"""An encoder that adds the soft parents of its positions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.embedding import Embedding
from regard.nn.encoders.encoder import Encoder, LastStates
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.parents import Parents


class ParentedEncoder(Encoder):
    """values [h_s; Σ_r p(r → s) h_r]: the values of another encoder, each beside its soft parent.

    The summary is the other encoder's.
    """

    def __init__(self, encoder: Encoder, parents: Parents) -> None:
        super().__init__()
        self.encoder, self.parents = encoder, parents
        self.value_size, self.summary_size = 2 * encoder.value_size, encoder.summary_size
        self.keyed, self.key_size = encoder.keyed, encoder.key_size if encoder.keyed else self.value_size
        # A mixture of heads has a smaller norm than a head.
        self.gain = encoder.gain * 2**0.5

    @classmethod
    def around(cls, encoder: Encoder, options: Any) -> ParentedEncoder:
        """An encoder with the soft parents that the options describe."""
        return cls(encoder, Parents.build(options, encoder.value_size, gain=encoder.gain))

    @classmethod
    def letters_around(cls, letters: Letters, options: Any) -> Letters:
        """The letters of an encoder and those of its soft parents."""
        return under("encoder", letters) | under("parents", Parents.letters(options))

    @property
    def embedding(self) -> Embedding:
        """The embedding of the input."""
        embedding: Embedding = self.encoder.embedding  # type: ignore[assignment]
        return embedding

    def hand_on(self) -> LastStates:
        return self.encoder.hand_on()

    def forward(self, tokens: Tokens, heads: Tensor | None = None) -> Memory:
        """heads (B, S) int64, 0 for the root symbol; required if the parents are given."""
        memory: Memory = self.encoder(tokens)
        found, marginals = self.parents(memory.values, tokens.lengths, heads, counts=tokens.counts)
        return replace(memory, values=torch.cat([memory.values, found], -1), heads=marginals)


def build_encoder(options: Any, column: Any, *, read_files: bool = True) -> Any:
    """The encoder of an input, with soft parents if the options ask for them."""
    encoder = options.part.build(options, column, read_files=read_files)
    parents = getattr(options, "parents", None)
    if parents is None:
        return encoder
    return ParentedEncoder.around(encoder, parents)


def encoder_letters(options: Any) -> Letters:
    """The letters of the parameters of `build_encoder`."""
    letters: Letters = options.part.letters(options)
    parents = getattr(options, "parents", None)
    return letters if parents is None else ParentedEncoder.letters_around(letters, parents)
