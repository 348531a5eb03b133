"""A document: a sequence of sentences."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from regard.data.batch import UNKNOWN, Sentences, Tokens
from regard.data.columns.column import Column
from regard.data.columns.sentence_rule import sentences_by_rule
from regard.data.columns.text import Case, NormalForm, Split, TextColumn, VocabularySize
from regard.data.columns.text_check import check_shared
from regard.data.columns.verbatim import verbatim
from regard.data.length_buckets import length_buckets
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import LISTED, listed_texts
from regard.parts import Count, Mistakes, Plan, register

BREAK = -1
"""Follows each sentence in the encoding."""


class SentenceOptions(Column.Options):
    """Options shared by the columns of sentences."""

    vocabulary: VocabularySize | None = None
    """Maximum vocabulary size, including the four special entries; the most frequent words are kept."""
    min_count: Count = 1
    """Words that occur fewer times in training are unknown."""
    normalize: NormalForm | None = "NFC"
    """Unicode normal form."""
    case: Case = "keep"
    """keep: no change; lower: convert to lower case; marked: lower case with marks that preserve the case."""
    split: Split = "space"
    """space: split at spaces; punctuation: split off punctuation too, with marks that preserve the spacing."""
    shared: str | None = None
    """Use the vocabulary of this other column, fitted to both."""


@register("column", "document")
class DocumentColumn(Column):
    """Sentences, split by a rule (`sentence_rule`), one per line, or given as a list.

    by              how to split sentences: rule or lines; lists of sentences or of lists of words are kept
    max_sentences   maximum number of sentences
    max_length      maximum length of a sentence, in words; a longer one is split
    and `vocabulary`, `min_count`, `normalize`, `case`, `split` as for text

    The encoding consists of the word ids, with −1 after each sentence. For words in the vocabulary, decode(encode(x))
    is x with each run of white space replaced by one space.
    """

    class Options(SentenceOptions):
        """A sequence of sentences: a text that is split into sentences, or a list of sentences."""

        by: Literal["rule", "lines"] = "rule"
        """How to split sentences. rule: after `. ! ? …` if a space and no lower-case letter follow, except for initials
        and common abbreviations; after `。！？`; and at line ends (`<br>` too). lines: at line ends only. A JSON list
        of sentences, or of lists of words, is used as it is."""
        max_sentences: Count = 1000
        """Maximum number of sentences."""
        max_length: Count = 100
        """Maximum length of a sentence, in words; a longer one is split."""

    type = "document"
    shows_unknown = True
    has_units = True
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    encoder = "hierarchical"
    of_sentences = True
    copyable = True
    listed = True

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        given = {key: value for key, value in dict(options).items() if key != "shared"}
        return cls(name, verbatim=bool(asked.get("verbatim")), **given)

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
        by: Literal["rule", "lines"] = "rule",
        max_sentences: int | None = 1000,
        max_length: int | None = 100,
        **words: Any,
    ) -> None:
        super().__init__(name, field=field)
        self.by, self.max_sentences, self.max_length = by, max_sentences, max_length
        self.words = TextColumn(name, field=field, **words)

    @property
    def vocabulary(self) -> Any:
        return self.words.vocabulary

    @property
    def reads_texts(self) -> bool:
        return self.words.verbatim

    @property
    def size(self) -> int:
        """Number of ids."""
        return self.words.size

    def written(self, value: Any) -> str:
        """A text, a list of sentences, or a list of lists of words."""
        texts = listed_texts(value)
        return super().written(value) if texts is None else texts

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, as written, without blank ones."""
        if LISTED in text:
            found = [" ".join(part.split()) for part in text.split(LISTED)]
        elif self.by == "lines":
            found = [line.strip() for line in text.splitlines()]
        else:
            found = sentences_by_rule(text)
        return [sentence for sentence in found if sentence]

    def copied(self, value: str) -> list[str]:
        return [word for sentence in self.pieces(value) for word in sentence]

    def pieces(self, text: str) -> list[list[str]]:
        """The words of each sentence; a sentence that is too long is split."""
        found = []
        for sentence in self.sentences(text):
            words = self.words.pieces(sentence)
            most = self.max_length or max(len(words), 1)
            found += [words[start : start + most] for start in range(0, len(words), most)]
        return found

    def unknown_units(self, value: str) -> list[str]:
        return [word for sentence in self.sentences(value) for word in self.words.unknown_units(sentence)]

    def learn(self, values: Iterable[str]) -> None:
        self.words.learn(sentence for value in values for sentence in self.sentences(value))

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None or self.pieces(value):
            return reason
        return "has no sentence"

    def check_encoded(self, encoded: Array) -> str | None:
        count = int(np.count_nonzero(encoded == BREAK))
        if self.max_sentences is not None and count > self.max_sentences:
            return f"has {count} sentences, more than max_sentences {self.max_sentences}"
        return None

    def encode(self, value: str) -> Array:
        vocabulary, found = self.words.vocabulary, []
        for words in self.pieces(value):
            found += [*vocabulary.ids(words), BREAK]
        return np.array(found, dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.words.decode(sentence) for sentence in split_sentences(ids))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """One text per sentence: sentences are the attention positions."""
        if isinstance(value, str):
            return [self.words.join(words) for words in self.pieces(value)]
        return [self.words.decode(sentence) for sentence in split_sentences(value)]

    def readable(self, collated: Sentences) -> list[list[str]]:
        return [[self.words.decode(words) for words in document] for document in documents(collated)]

    def readable_texts(self, collated: Sentences, texts: Sequence[str]) -> list[list[str]]:
        return [self.tokens(text) for text in texts]

    def collate_texts(self, encoded: Ragged, texts: Sequence[str]) -> Sentences:
        """Like `collate`, with the words of the concatenated sentences if a decoder copies them."""
        words = [[word for sentence in self.pieces(text) for word in sentence] for text in texts]
        return replace(self.collate(encoded), verbatim=verbatim(words))

    def readable_words(
        self, collated: Sentences, texts: Sequence[str] | None = None
    ) -> list[list[list[str]]]:
        """The words of each sentence of each row; unknown words as written, if the texts are given."""
        if texts is not None:
            show = self.words.cutter.show
            return [[[show(word) for word in words] for words in self.pieces(text)] for text in texts]
        return [[self.words.tokens(words) for words in document] for document in documents(collated)]

    def collate(
        self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None
    ) -> Sentences:
        """The sentences in buckets of similar length, as described in `Sentences`."""
        rows = Ragged.of(encoded)
        values = rows.values.astype(np.int64)
        breaks = np.flatnonzero(values == BREAK)
        before = np.concatenate([[0], np.cumsum(values == BREAK)])[
            rows.offsets
        ]  # (B + 1,) number of sentences before each row
        starts = np.concatenate([[0], breaks[:-1] + 1]) if len(breaks) else breaks
        words = breaks - starts  # (N,) words per sentence
        buckets, order = [], [np.zeros(0, dtype=np.int64)]
        for chosen in self.divide(words):
            order.append(chosen)
            lengths = words[chosen]
            places = np.arange(int(lengths.max()))
            known = places < lengths[:, None]
            ids = np.where(known, values[np.where(known, starts[chosen, None] + places, 0)], 0)
            counts = torch.from_numpy(lengths)
            buckets.append(Tokens(torch.from_numpy(ids), counts))
        places = np.argsort(np.concatenate(order), kind="stable")
        return Sentences(tuple(buckets), torch.from_numpy(places), torch.from_numpy(np.diff(before)))

    def reduced(
        self, encoded: Array, kept: Array, *, words: bool = False, fill: bool = False
    ) -> Array | None:
        flags = self._kept_words(sentence_lengths(encoded), kept, words)
        if flags is None:
            return None
        found: list[int] = []
        for sentence, marks in zip(split_sentences(encoded), flags, strict=True):
            left = [
                word if mark else UNKNOWN for word, mark in zip(sentence, marks, strict=True) if mark or fill
            ]
            found += [*left, BREAK] if left else []
        return np.array(found, dtype=encoded.dtype)

    def reduced_text(self, text: str, kept: Array, *, words: bool = False, fill: bool = False) -> str:
        pieces, unknown = self.pieces(text), self.words.cutter.unknown
        flags = self._kept_words([len(sentence) for sentence in pieces], kept, words) or []
        left = [
            [word if mark else unknown for word, mark in zip(sentence, marks, strict=True) if mark or fill]
            for sentence, marks in zip(pieces, flags, strict=True)
        ]
        return self.joined_sentences([self.words.join(sentence) for sentence in left if sentence])

    def joined_sentences(self, sentences: Sequence[str]) -> str:
        """The text of some sentences: the inverse of `sentences`."""
        return "".join(f"{sentence}{LISTED}" for sentence in sentences)

    @staticmethod
    def _kept_words(counts: Sequence[int] | Array, kept: Array, words: bool) -> list[list[bool]] | None:
        """For each sentence, which of its words are kept; None if there are not so many positions."""
        if len(kept) != (int(np.sum(counts)) if words else len(counts)):
            return None
        flat = kept if words else np.repeat(kept, counts)
        return [part.tolist() for part in np.split(flat, np.cumsum(counts)[:-1])]

    def divide(self, words: Array) -> list[Array]:
        """The sentences of each bucket, from the number of words of each, (N,)."""
        return length_buckets(words)

    def options(self) -> dict[str, Any]:
        words = {key: value for key, value in self.words.options().items() if key != "field"}
        own = {"by": self.by, "max_sentences": self.max_sentences, "max_length": self.max_length}
        return {"field": self.field, **words, **own}

    def learned(self) -> dict[str, Any]:
        return self.words.learned()

    def pretend(self, size: int) -> None:
        self.words.pretend(size)

    def units(self) -> dict[str, Sequence[Hashable]]:
        return self.words.units()

    def grow(self, kind: str) -> None:
        self.words = copy(self.words)
        self.words.grow(kind)

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.words.relearn(learned)


def documents(collated: Sentences) -> list[list[list[int]]]:
    """The ids of each sentence of each row of a batch."""
    rows = [
        ids[:count]
        for bucket in collated.buckets
        for ids, count in zip(bucket.ids.tolist(), bucket.lengths.tolist(), strict=True)
    ]
    sentences = iter([rows[place] for place in collated.places.tolist()])
    return [[next(sentences) for _ in range(count)] for count in collated.lengths.tolist()]


def split_sentences(ids: Sequence[int] | Array) -> list[list[int]]:
    """The ids of each sentence of an encoding."""
    values = np.asarray(ids)
    ends = np.flatnonzero(values == BREAK)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    return [values[start:end].tolist() for start, end in zip(starts, ends, strict=True)]


def sentence_lengths(ids: Array) -> Array:
    """(S,) number of words of each sentence of an encoding."""
    return np.diff(np.flatnonzero(ids == BREAK), prepend=-1) - 1
