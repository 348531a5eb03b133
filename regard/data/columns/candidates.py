"""The candidates of a row, from which one is chosen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from regard.data.columns.column import Column
from regard.data.columns.document import sentence_lengths
from regard.data.columns.story import StoryColumn
from regard.data.ragged import Array
from regard.data.readers.row import LISTED, listed_texts
from regard.data.turns import MARK, plain
from regard.errors import RegardError
from regard.parts import Count, Mistakes, Plan, register


@register("column", "candidates")
class CandidatesColumn(StoryColumn):
    """Texts separated by marks, "yes | no | i do not know", or as JSON: `["yes", "no"]`. Collated like a story."""

    class Options(Column.Options):
        """Texts from which an output of type candidate chooses one: `yes | no | perhaps`, or JSON `["yes", "no"]`."""

        mark: str = MARK
        """Separator between candidates, with blanks around it."""
        max_candidates: Count = 1000
        """Maximum number of candidates per row."""
        max_length: Count = 500
        """Longest candidate allowed, in words."""

    type = "candidates"
    stands_for = ()
    encoder = "candidates"
    of_sentences = False
    listed = True

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: candidates, of words"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        """Nothing to check: the vocabulary is not shared."""

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        mark: str = MARK,
        max_candidates: int | None = None,
        **words: Any,
    ) -> None:
        super().__init__(name, field=field, mark=mark, **words)
        if plain(mark) != mark or " " in mark or mark.startswith("["):
            raise RegardError(f"the mark is {mark!r}, expected one word.", where=name)
        self.max_candidates = max_candidates

    def sentences(self, text: str) -> list[str]:
        given = text.lstrip()
        if given.startswith("[") and LISTED not in text:
            with suppress(ValueError, RecursionError):  # otherwise a text that starts with a bracket
                text = listed_texts(json.loads(given)) or text
        pieces = text.split(LISTED) if LISTED in text else f" {plain(text)} ".split(f" {self.mark} ")
        return [plain(piece) for piece in pieces if plain(piece)]

    def check_value(self, value: str | None) -> str | None:
        if value is None:
            return "is missing"
        found = self.sentences(value)
        if not found:
            return "has no candidate"
        twice = next((one for one in found if found.count(one) > 1), None) if len(found) < 50 else None
        return None if twice is None else f"has the candidate {twice[:40]!r} twice"

    def check_encoded(self, encoded: Array) -> str | None:
        lengths = sentence_lengths(encoded)
        if self.max_candidates is not None and len(lengths) > self.max_candidates:
            return f"has {len(lengths)} candidates, more than max_candidates {self.max_candidates}"
        if self.longest is not None and len(lengths) and int(lengths.max()) > self.longest:
            return f"has a candidate of {int(lengths.max())} words, more than max_length {self.longest}"
        return None

    def learn(self, values: Iterable[str]) -> None:
        self.words.learn(sentence for value in values for sentence in self.sentences(value))

    def readable_texts(self, collated: Any, texts: Sequence[str]) -> list[list[str]]:
        return [self.sentences(text) for text in texts]

    def options(self) -> dict[str, Any]:
        kept = {key: value for key, value in super().options().items() if key != "max_sentences"}
        return {**kept, "max_candidates": self.max_candidates}
