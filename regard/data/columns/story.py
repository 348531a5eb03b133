"""A story: sentences, each of them words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import PAD, Sentences
from regard.data.columns.column import Column
from regard.data.columns.text import Case, NormalForm, Split, TextColumn, VocabularySize, check_shared
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Count, Mistakes, Plan, register

BREAK = -1
"""Stands behind each sentence in the encoding."""


@register("column", "story")
class StoryColumn(Column):
    """Sentences that end with a mark: "Mary went to the kitchen. John took the milk."

    mark            what ends a sentence; the last one may go without it
    max_sentences   longest story allowed
    and `unit`, `vocabulary`, `min_count`, `normalize`, `case`, `split`, `max_length` (of one sentence) as in a text

    The encoding is the ids of the words with −1 behind each sentence; decode(encode(x)) is x with each run of white
    space as one space, for words of the vocabulary.
    """

    class Options(Column.Options):
        """Sentences of words, each ended by a mark: `Mary went to the kitchen. John took the milk.`"""

        mark: str = "."
        """What ends a sentence."""
        vocabulary: VocabularySize | None = None
        """Keep the most frequent so many words, the four special entries included."""
        min_count: Count = 1
        """Rarer words are unknown."""
        normalize: NormalForm | None = "NFC"
        """Unicode normal form."""
        case: Case = "keep"
        """marked: lower case with marks from which the case is restored."""
        split: Split = "space"
        """punctuation: words and punctuation apart, with marks from which the spacing is restored."""
        max_sentences: Count = 500
        """Longest story, in sentences."""
        max_length: Count = 100
        """Of one sentence, in words."""
        shared: str | None = None
        """Take the vocabulary of this other column, fitted on both."""

    type = "story"
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    encoder = "story"
    of_sentences = True

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, **{key: value for key, value in dict(options).items() if key != "shared"})

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: sentences of words"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_shared(options, name, plan, mistakes)

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        mark: str = ".",
        max_sentences: int | None = None,
        **words: Any,
    ) -> None:
        super().__init__(name, field=field)
        if not mark or mark.isspace():
            raise RegardError(f"the mark is {mark!r}, expected a sign that ends a sentence.", where=name)
        self.mark, self.max_sentences = mark, max_sentences
        self.words = TextColumn(name, field=field, **words)

    @property
    def vocabulary(self) -> Any:
        return self.words.vocabulary

    @property
    def size(self) -> int:
        """Number of ids."""
        return self.words.size

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, without their marks; what is blank between two marks is none."""
        return [part.strip() for part in text.split(self.mark) if part.strip()]

    def learn(self, values: Iterable[str]) -> None:
        self.words.learn(sentence for value in values for sentence in self.sentences(value))

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None or self.sentences(value):
            return reason
        return f"has no sentence, only {self.mark!r}"

    def check_encoded(self, encoded: Array) -> str | None:
        lengths = sentence_lengths(encoded)
        if self.max_sentences is not None and len(lengths) > self.max_sentences:
            return f"has {len(lengths)} sentences, more than max_sentences {self.max_sentences}"
        longest = self.words.max_length
        if longest is not None and len(lengths) and int(lengths.max()) > longest:
            return f"has a sentence of {int(lengths.max())} tokens, more than max_length {longest}"
        return None

    def encode(self, value: str) -> Array:
        parts: list[Array] = []
        for sentence in self.sentences(value):
            parts += [self.words.encode(sentence), np.array([BREAK], dtype=np.int32)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(f"{self.words.decode(sentence)}{self.mark}" for sentence in split_sentences(ids))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """One piece a sentence: these are the positions that are looked at."""
        if isinstance(value, str):
            return self.sentences(value)
        return [self.words.decode(sentence) for sentence in split_sentences(value)]

    def readable(self, collated: Any) -> list[list[str]]:
        rows = zip(collated.ids.tolist(), collated.lengths.tolist(), strict=True)
        return [
            [
                self.words.decode([number for number in sentence if number != PAD])
                for sentence in story[:length]
            ]
            for story, length in rows
        ]

    def collate(
        self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None
    ) -> Sentences:
        """ids (B, S, L), lengths (B,) sentences of each story."""
        rows = Ragged.of(encoded)
        values = rows.values.astype(np.int64)
        story = np.repeat(np.arange(len(rows)), rows.lengths)  # (words and breaks,)
        breaks = values == BREAK
        before = np.cumsum(breaks) - breaks  # sentences that ended before, in the whole batch
        counts = np.bincount(story[breaks], minlength=len(rows))  # (B,)
        first = np.cumsum(counts) - counts
        sentence = before - first[story]
        start = np.concatenate([[0], np.flatnonzero(breaks) + 1])[before]
        place = np.arange(len(values)) - start
        words = ~breaks
        longest = int(place[words].max(initial=0)) + 1
        ids = np.zeros((len(rows), max(int(counts.max(initial=0)), 1), longest), dtype=np.int64)
        ids[story[words], sentence[words], place[words]] = values[words]
        return Sentences(torch.from_numpy(ids), torch.from_numpy(counts.astype(np.int64)))

    def options(self) -> dict[str, Any]:
        words = {key: value for key, value in self.words.options().items() if key != "field"}
        return {"field": self.field, "mark": self.mark, "max_sentences": self.max_sentences, **words}

    def learned(self) -> dict[str, Any]:
        return self.words.learned()

    def pretend(self, size: int) -> None:
        self.words.pretend(size)

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.words.relearn(learned)


def split_sentences(ids: Sequence[int] | Array) -> list[list[int]]:
    """The ids of each sentence of an encoding."""
    values = np.asarray(ids)
    ends = np.flatnonzero(values == BREAK)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    return [values[start:end].tolist() for start, end in zip(starts, ends, strict=True)]


def sentence_lengths(ids: Array) -> Array:
    """(S,) the words of each sentence of an encoding."""
    return np.diff(np.flatnonzero(ids == BREAK), prepend=-1) - 1
