"""Vectors of unknown words from their character n-grams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

SHORTEST, LONGEST = 3, 5


def grams(word: str) -> Iterator[str]:
    """The character n-grams of a word in lower case, with its ends marked: <wo wor ord rd> …"""
    marked = f"<{word.lower()}>"
    for length in range(SHORTEST, LONGEST + 1):
        for start in range(len(marked) - length + 1):
            yield marked[start : start + length]


def from_characters(absent: Mapping[int, str], known: Mapping[str, Any]) -> dict[int, Tensor]:
    """u(w) = mean over the n-grams g of w of z(g),  z(g) = mean of the vectors of the known words with g.

    Words that share no n-gram with a known word have no vector.

    absent   words without a vector, by number
    known    the vectors of words
    """
    needed = {gram for word in absent.values() for gram in grams(word)}
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = {}
    for word, vector in known.items():
        for gram in needed.intersection(grams(word)):
            sums[gram] = sums[gram] + vector if gram in sums else vector.clone()
            counts[gram] = counts.get(gram, 0) + 1
    found = {}
    for number, word in absent.items():
        shared = [sums[gram] / counts[gram] for gram in grams(word) if gram in sums]
        if shared:
            found[number] = torch.stack(shared).mean(0)
    return found
