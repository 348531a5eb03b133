"""Sentences of a batch together with the texts of their rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from regard.data.batch import Sentences


@dataclass(frozen=True)
class SentenceTexts(Sentences):
    """Sentences whose words, including unknown ones, can be shown as written.

    texts   the values of the rows
    """

    texts: tuple[str, ...] = ()

    def to(self, device: torch.device | str) -> SentenceTexts:
        there = super().to(device)
        return SentenceTexts.of(there, self.texts)

    @classmethod
    def of(cls, found: Sentences, texts: tuple[str, ...]) -> SentenceTexts:
        return cls(found.buckets, found.places, found.lengths, found.counts, found.verbatim, texts)
