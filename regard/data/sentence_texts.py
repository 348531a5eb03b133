"""Sentences of a batch beside the values of the rows they came from."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from regard.data.batch import Sentences


@dataclass(frozen=True)
class SentenceTexts(Sentences):
    """Sentences whose words can be shown as they were written, those that are not known included.

    texts   the values of the rows
    """

    texts: tuple[str, ...] = ()

    def to(self, device: torch.device | str) -> SentenceTexts:
        there = super().to(device)
        return SentenceTexts.of(there, self.texts)

    @classmethod
    def of(cls, found: Sentences, texts: tuple[str, ...]) -> SentenceTexts:
        return cls(found.buckets, found.places, found.lengths, found.counts, found.verbatim, texts)
