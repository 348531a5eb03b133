"""A score on two levels: that of a word, and that of its sentence (Nallapati et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.scores.score import AttentionScore


class TwoLevel(AttentionScore):
    """e_tj + ε_tσ(j), σ(j) the sentence of word j, over the words of a memory whose `parent` holds the sentences.

    The softmax of the sum is the renormalized product of two softmaxes, over the words of a document and over
    its sentences: equation 4 of Nallapati et al.
    """

    def __init__(self, words: AttentionScore, sentences: AttentionScore) -> None:
        super().__init__(words.query_size, words.key_size)
        self.words, self.sentences = words, sentences
        self.widths = [part.keys(torch.zeros(1, 1, part.key_size)).shape[-1] for part in (words, sentences)]

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        words, sentences = keys.split(self.widths, -1)
        found: Tensor = self.words(query, words) + self.sentences(query, sentences)
        return found
