"""Continuous text, the output of a language model."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import BEGIN, UNKNOWN, Span
from regard.data.columns.column import Column
from regard.data.columns.subword import Subwords
from regard.data.columns.text import (
    UNITS,
    Case,
    NormalForm,
    Split,
    TextColumn,
    UnitName,
    VocabularySize,
)
from regard.data.columns.text_check import check_units
from regard.data.columns.vocabulary import Vocabulary, WithLineEnds, code_points
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import LISTED
from regard.errors import Message, RegardError, Setting
from regard.parts import Count, Mistakes, Plan, register

LINE_END = "⏎"
"""How a line end is shown among other pieces."""


@register("column", "stream")
class StreamColumn(TextColumn):
    """One long text as the ids of its pieces. Its rows are consecutive parts of the text; tokenization does not depend
    on where they end.

    Words and subwords do not cross line ends, and each line end is a piece of its own. Options: see `TextColumn`.
    """

    class Options(Column.Options):
        """Continuous text without an input, split into words, characters, bytes or subwords."""

        unit: UnitName = "word"
        """Unit of tokenization. For words and subwords, each line end is a token of its own."""
        vocabulary: VocabularySize | None = None
        """Maximum vocabulary size, including the four special entries; the most frequent units are kept. For subwords,
        the size of the model (default: 8000)."""
        min_count: Count = 1
        """Words or characters that occur fewer times in training are unknown."""
        normalize: NormalForm | None = "NFC"
        """Unicode normal form."""
        case: Case = "keep"
        """keep: no change; lower: convert to lower case; marked: lower case with marks that preserve the case."""
        split: Split = "space"
        """space: split at spaces; punctuation: split off punctuation too, with marks that preserve the spacing."""

    type = "stream"
    has_remark = True
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    stands_for: ClassVar[tuple[str, ...] | None] = ()
    usual: ClassVar[tuple[str, ...]] = ("perplexity", "bits_per_character", "nats_per_character")
    encoder = None  # type: ignore[assignment]
    decoder = "language"
    alone = True

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, **dict(options))

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: {UNITS[options.unit]} of a text stream"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_units(options, mistakes)
        if plan.inputs:
            mistakes.add(
                f"a model that writes a stream has no inputs; this one reads {', '.join(plan.inputs)}.",
                "type",
                fix="Use type: text, or remove inputs.",
            )
        if len(plan.outputs) > 1:
            mistakes.add(
                "a stream must be the only output of its model.",
                "type",
                fix="Train one model for each stream.",
            )

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._subwords: Subwords | None = None
        if self._cutter is not None and self.unit == "word":
            self._cutter = WithLineEnds(self._cutter)

    def learn(self, values: Iterable[str]) -> None:
        if self.unit == "subword":
            super().learn(line for value in values for line in value.split(WithLineEnds.END) if line.strip())
            self._with_lines()
        else:
            super().learn(values)
        if self.unit != "byte" and not self.vocabulary.pieces:
            raise RegardError(
                f"none of the {UNITS[self.unit]} of this text occurs {self.min_count} times: all would be unknown.",
                where=f"outputs.{self.name}.min_count",
                fix=Message("Use a longer text, or  ", Setting(f"outputs.{self.name}.min_count", 1)),
            )

    def _with_lines(self) -> None:
        """Add a piece for line ends, which subword models lack."""
        if isinstance(self._cutter, Subwords):
            self._subwords = self._cutter
            self._vocabulary = Vocabulary([*self._subwords.vocabulary.pieces, WithLineEnds.END])
            self._cutter = WithLineEnds(self._subwords)

    def learned(self) -> dict[str, Any]:
        return super().learned() if self._subwords is None else self._subwords.learned()

    def relearn(self, learned: Mapping[str, Any]) -> None:
        super().relearn(learned)
        self._with_lines()

    def check_value(self, value: str | None) -> str | None:
        if value is None or LISTED in value:
            return super().check_value(value)
        return None if value else "is empty"

    def check_encoded(self, encoded: Array) -> str | None:
        return None

    @property
    def _by_characters(self) -> bool:
        """Whether pieces are single characters. Long texts are then counted and encoded as arrays."""
        return self.unit == "char" and self.case != "marked"

    def _counted(self, texts: Iterable[str]) -> Counter[str]:
        if not self._by_characters:
            return super()._counted(texts)
        counts = np.zeros(sys.maxunicode + 1, dtype=np.int64)
        for text in texts:
            found = np.bincount(code_points(text))
            counts[: len(found)] += found
        return Counter({chr(place): int(counts[place]) for place in counts.nonzero()[0].tolist()})

    def encode(self, value: str) -> Array:
        if self._by_characters:
            return self.vocabulary.ids_of_characters(self._compose(value))
        return super().encode(value)

    def written(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        raise RegardError(f"received a {type(value).__name__}, expected a text.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return [LINE_END if piece == WithLineEnds.END else piece for piece in super().tokens(value)]

    def characters(self, text: str) -> int:
        """Number of characters of a text in the normal form."""
        return len(self._compose(text))

    def refuse_unknown(self, text: str, where: str) -> None:
        """Refuse a text with pieces that are not in the vocabulary, and name them."""
        unknown = [piece for piece in dict.fromkeys(self.pieces(text)) if piece not in self.vocabulary]
        if not unknown:
            return
        named = ", ".join(
            f"{piece!r} (U+{ord(piece):04X})" if len(piece) == 1 else repr(piece) for piece in unknown[:8]
        )
        more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
        units = {"char": "characters", "word": "words"}.get(self.unit, "units")
        raise RegardError(
            f"the text has {units} that the model never saw: {named}{more}.",
            where=where,
            fix="Remove or replace them, or train on a text that contains them.",
        )

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        unknown = total = 0
        for _, encoded in rows:
            unknown, total = unknown + int((encoded == UNKNOWN).sum()), total + len(encoded)
        if not unknown:
            return None
        return (
            f"{unknown:,} of {total:,} {UNITS[self.unit]} are outside the vocabulary and are read as unknown"
        )

    def collate(  # type: ignore[override]
        self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None
    ) -> Span:
        """The concatenated rows as one text: ids (1, T)"""
        ids = np.asarray(Ragged.of(encoded).values, dtype=np.int64)
        return span(ids[None], np.array([BEGIN]))

    def options(self) -> dict[str, Any]:
        known = StreamColumn.Options.model_fields
        return {name: value for name, value in super().options().items() if name in known}


def span(ids: Array, before: Array, *, fresh: bool = True) -> Span:
    """A Span of ids (B, T) int64, given the preceding tokens (B)."""
    previous = np.concatenate([before[:, None], ids[:, :-1]], 1)
    return Span(torch.from_numpy(ids), torch.from_numpy(previous), fresh)
