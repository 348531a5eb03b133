"""A document as the data of a figure: its sentences and words with their weights, and the collapsed sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regard.inspect.writing import JOINER
from regard.trace import Array, SentenceWords


@dataclass(frozen=True)
class Fold:
    """Sentences of a document that are not shown, from `first` to `last`, and their summary."""

    first: int
    last: int
    told: str


FULL = 16
"""Maximum number of sentences of a document that is shown completely."""
MOST_READ = 8
"""Maximum number of most attended sentences shown of a longer document."""
MOST_SHADED, FAINTEST = 1000, 0.04
"""Maximum number of shaded words of a document, and their minimum share of the largest weight."""
LEAST_READ = 3
READ = 0.02
"""Minimum weight of a shown sentence; at least three are always shown."""


@dataclass(frozen=True, eq=False)
class DocumentWords:
    """A document with the weights of its sentences and words."""

    words: SentenceWords
    title: str = ""

    @cached_property
    def shares(self) -> Array:
        """(W,) weights of the words; zeros if only sentences have weights."""
        found = self.words.shares if self.words.weights is not None else None
        return np.zeros(len(self.words.words)) if found is None else found

    @cached_property
    def limit(self) -> float:
        """The weight of a word with the full shade."""
        return float(self.shares.max(initial=0.0)) or 1.0

    def word(self, place: int) -> str:
        """A word without joiners; never empty."""
        return self.words.words[place].strip(JOINER) or self.words.words[place]

    def joined(self, place: int) -> bool:
        """Whether a word is joined to the one before it."""
        words = self.words.words
        return words[place].startswith(JOINER) or (place > 0 and words[place - 1].endswith(JOINER))

    def weight(self, place: int) -> float:
        return float(self.shares[place])

    def share(self, place: int) -> float:
        value = float(self.shares[place])
        return 0.0 if np.isnan(value) else min(1.0, max(0.0, value / self.limit))

    @cached_property
    def shaded(self) -> frozenset[int]:
        """The words with a notable weight, and the decisive ones, so that a page of many thousand words stays small."""
        most = np.argsort(-self.shares, kind="stable")[:MOST_SHADED].tolist()
        deciding = [] if self.words.truth is None else np.flatnonzero(self.words.truth).tolist()
        return frozenset([*(place for place in most if self.share(place) >= FAINTEST), *deciding])

    def decides(self, place: int) -> bool:
        return self.words.truth is not None and bool(self.words.truth[place])

    def is_true(self, sentence: int) -> bool:
        """Whether a sentence contains a decisive word."""
        low, high = self.words.bounds[sentence]
        return self.words.truth is not None and bool(self.words.truth[low:high].any())

    @cached_property
    def folded(self) -> list[int | Fold]:
        """The content from top to bottom: sentences, and folds of those that are not shown."""
        count = len(self.words.counts)
        if count <= FULL:
            return list(range(count))
        weights = self.words.sentences
        if weights is None:
            kept = set(range(MOST_READ))
        else:
            most = np.argsort(-weights, kind="stable")[:MOST_READ].tolist()
            kept = {place for rank, place in enumerate(most) if rank < LEAST_READ or weights[place] >= READ}
        kept |= {sentence for sentence in range(count) if self.is_true(sentence)}
        found: list[int | Fold] = []
        place = 0
        while place < count:
            end = place
            while end < count and end not in kept:
                end += 1
            if end - place == 1:  # a single sentence takes no more room than a fold
                found.append(place)
            elif end > place:
                found.append(Fold(place, end - 1, self._told(place, end)))
            if end < count:
                found.append(end)
            place = end + 1
        return found

    def _told(self, first: int, end: int) -> str:
        told = f"{end - first} sentences"
        if self.words.sentences is None:
            return told
        whole = f"{float(self.words.sentences[first:end].sum()):.2f}".removeprefix("0")
        return f"{told}, {whole} in all"
