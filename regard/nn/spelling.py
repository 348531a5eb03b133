"""Word vectors computed from characters, for known and unknown words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.data.batch import Spelling, Tokens
from regard.errors import RegardError
from regard.nn.embedding import Arrange, Embedding, as_it_stands
from regard.nn.packing import Packing
from regard.nn.recurrence import RecurrentLayer


class ConvolutionalSpelling(nn.Module):
    """max over the places j of f(Σ_k C_k e(c_{j+k}) + b), f = tanh, for each of the U distinct words of a batch.

    (dos Santos and Zadrozny 2014). The characters are enclosed in a begin and an end marker.
    """

    def __init__(self, embedding: Embedding, size: int, *, width: int = 3) -> None:
        super().__init__()
        if width % 2 == 0:
            raise RegardError(
                f"A convolution's width must be odd; received {width}.", fix=f"Choose {width + 1}."
            )
        self.embedding, self.size = embedding, size
        self.convolution = nn.Conv1d(embedding.size, size, width, padding=width // 2)

    def forward(self, spelling: Spelling) -> Tensor:
        """(U, size)"""
        seen = self.convolution(self.embedding(spelling.characters).transpose(1, 2))  # (U, size, W)
        places = torch.arange(seen.shape[-1], device=seen.device)
        beyond = places >= spelling.lengths[:, None]  # (U, W)
        best: Tensor = seen.masked_fill(beyond.unsqueeze(1), -torch.inf).amax(-1)
        return best.tanh()


class RecurrentSpelling(nn.Module):
    """[→h_n; ←h_1] of an LSTM over the characters, for each of the U distinct words of a batch (Lample et al. 2016)."""

    def __init__(self, embedding: Embedding, size: int) -> None:
        super().__init__()
        if size % 2:
            raise RegardError(
                f"Two directions need an even size; received {size}.", fix=f"Choose {size + 1}."
            )
        self.embedding, self.size = embedding, size
        self.layer = RecurrentLayer(embedding.size, size // 2, cell="lstm")

    def forward(self, spelling: Spelling) -> Tensor:
        """(U, size)"""
        packing = Packing.of(spelling.lengths, spelling.characters.shape[1], spelling.counts)
        last: Tensor = self.layer(self.embedding(packing.pack(spelling.characters)), packing)[1]
        return last


class SpelledEmbedding(nn.Module):
    """[e(x); s(characters of x)]: a word's embedding beside a vector computed from its spelling.

    The spelling of each distinct word in a batch is computed once. A word outside the vocabulary has the
    vector of UNKNOWN and its own spelling.
    """

    def __init__(
        self, words: Embedding, spelling: ConvolutionalSpelling | RecurrentSpelling, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.words, self.spelling = words, spelling
        self.size = words.size + spelling.size
        self.dropout = nn.Dropout(dropout)

    def read(self, tokens: Tokens, arrange: Arrange = as_it_stands) -> Tensor:
        """The vectors (…, size) of tokens, reordered by `arrange`."""
        if tokens.spelling is None:
            raise RegardError(
                "This embedding reads the characters of words, and the tokens came without them.",
                fix="Make the tokens with a SpelledTextColumn.",
            )
        spelled = self.spelling(tokens.spelling)  # (U, size)
        chosen = nn.functional.embedding(arrange(tokens.spelling.words), spelled)
        return torch.cat([self.words.read(tokens, arrange), self.dropout(chosen)], -1)
