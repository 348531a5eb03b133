"""Short texts with names that are numbered apart from their words: the base of tables and graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from regard.data.columns.column import Column
from regard.data.columns.document import DocumentColumn
from regard.data.columns.text import Case, NormalForm, Split, VocabularySize
from regard.data.columns.vocabulary import Vocabulary
from regard.data.contents import Unreadable
from regard.data.readers.row import object_text
from regard.parts import Count


class NamedOptions(Column.Options):
    """Options shared by tables and graphs."""

    vocabulary: VocabularySize | None = None
    """Maximum vocabulary size, including the four special entries; the most frequent units are kept."""
    min_count: Count = 1
    """Units that occur fewer times in training are unknown."""
    normalize: NormalForm | None = "NFC"
    """Unicode normal form."""
    case: Case = "keep"
    """keep: no change; lower: convert to lower case; marked: lower case with marks that preserve the case."""
    split: Split = "space"
    """space: split at spaces; punctuation: split off punctuation too, with marks that preserve the spacing."""


class NamedColumn(DocumentColumn):
    """Texts (the values of cells, the labels of nodes) and names (of fields, of relations).

    The texts are the sentences of a document. The names have numbers of their own.

    kind    the names in the plural: "fields"
    """

    kind: ClassVar[str] = ""
    stands_for: ClassVar[tuple[str, ...] | None] = ()
    of_sentences = False
    listed = False
    objects = True
    drawn = True

    def __init__(self, name: str, *, field: str | None = None, **words: Any) -> None:
        super().__init__(name, field=field, max_sentences=None, max_length=None, **words)
        self.names = Vocabulary([])

    def texts_and_names(self, text: str) -> tuple[list[str], list[str]]:
        """The texts and the names of a value; raises `Unreadable` with the reason."""
        raise NotImplementedError

    def sentences(self, text: str) -> list[str]:
        return self.texts_and_names(text)[0]

    def written(self, value: Any) -> str:
        """A text; a mapping or a list of mappings as JSON."""
        found = object_text(value)
        return Column.written(self, value) if found is None else found

    def check_value(self, value: str | None) -> str | None:
        reason = Column.check_value(self, value)
        if reason or value is None:
            return reason
        try:
            self.texts_and_names(value)
        except Unreadable as error:
            return str(error.what).rstrip(".")
        return None

    def learn(self, values: Iterable[str]) -> None:
        texts, names = Counter[str](), Counter[str]()
        for value in values:
            try:
                found, named = self.texts_and_names(value)
            except Unreadable:
                continue  # reported when the rows are encoded
            texts.update(found)
            names.update(named)
        self.words.learn(texts.elements())
        self.names = Vocabulary.counted(names)

    def reduced_text(self, text: str, kept: Any, *, words: bool = False, fill: bool = False) -> str:
        return text

    def options(self) -> dict[str, Any]:
        left_out = ("by", "max_sentences", "max_length")
        return {key: value for key, value in super().options().items() if key not in left_out}

    def learned(self) -> dict[str, Any]:
        return {**super().learned(), self.kind: self.names.pieces}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        super().relearn(learned)
        self.names = Vocabulary(learned.get(self.kind, []))

    def units(self) -> dict[str, Sequence[Hashable]]:
        return {**super().units(), self.kind: self.names.units()}

    def grow(self, kind: str) -> None:
        if kind == self.kind:
            self.names = self.names.grown()
        else:
            super().grow(kind)

    def inner_sizes(self) -> dict[str, int]:
        return {f"{self.kind} of {self.name}": len(self.names)}

    def pretend_inner(self, name: str, size: int) -> None:
        self.names = Vocabulary([f"unit{number}" for number in range(size)])
