"""A story: a document whose sentences end with a mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from regard.data.columns.document import (
    DocumentColumn,
    SentenceOptions,
    sentence_lengths,
    split_sentences,
)
from regard.data.ragged import Array
from regard.errors import RegardError
from regard.parts import Count, register


@register("column", "story")
class StoryColumn(DocumentColumn):
    """Sentences that end with a mark: "Mary went to the kitchen. John took the milk."

    mark            the mark that ends a sentence; optional after the last
    max_sentences   maximum number of sentences
    and `vocabulary`, `min_count`, `normalize`, `case`, `split`, `max_length` (of one sentence) as for text
    """

    class Options(SentenceOptions):
        """A sequence of sentences, each ended by a mark: `Mary went to the kitchen. John took the milk.`"""

        mark: str = "."
        """The mark that ends a sentence."""
        max_sentences: Count = 500
        """Maximum number of sentences."""
        max_length: Count = 100
        """Longest sentence allowed, in words."""

    type = "story"
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    stands_for: ClassVar[tuple[str, ...] | None] = ()
    encoder = "story"
    listed = False

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        mark: str = ".",
        max_sentences: int | None = None,
        max_length: int | None = None,
        **words: Any,
    ) -> None:
        super().__init__(name, field=field, max_sentences=max_sentences, max_length=None, **words)
        if not mark or mark.isspace():
            raise RegardError(
                f"the mark is {mark!r}, expected a punctuation mark that ends a sentence.", where=name
            )
        self.mark, self.longest = mark, max_length

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, without marks and blank sentences."""
        return [part.strip() for part in text.split(self.mark) if part.strip()]

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        return f"has no sentence, only {self.mark!r}" if reason == "has no sentence" else reason

    def check_encoded(self, encoded: Array) -> str | None:
        lengths = sentence_lengths(encoded)
        if self.longest is not None and len(lengths) and int(lengths.max()) > self.longest:
            return f"has a sentence of {int(lengths.max())} tokens, more than max_length {self.longest}"
        return super().check_encoded(encoded)

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(f"{self.words.decode(sentence)}{self.mark}" for sentence in split_sentences(ids))

    def joined_sentences(self, sentences: Sequence[str]) -> str:
        return " ".join(f"{sentence}{self.mark}" for sentence in sentences)

    def divide(self, words: Array) -> list[Array]:
        """A single bucket: sentences of stories are short, and several small products cost more than padding."""
        return [np.arange(len(words))] if len(words) else []

    def options(self) -> dict[str, Any]:
        given = {key: value for key, value in super().options().items() if key != "by"}
        return {**given, "mark": self.mark, "max_length": self.longest}
