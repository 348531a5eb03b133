"""Evidence: which words of a document, in which of its sentences, decide the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import Evidence
from regard.data.columns.column import Column
from regard.data.columns.document import sentence_lengths
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, register

_PAIR = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)


@register("column", "evidence")
class EvidenceColumn(Column):
    """Pairs of a sentence of the document it is `of` and a word in it, counted from 0: "3:1 3:4". None at all is
    allowed. The words are those the document is cut into."""

    class Options(Column.Options):
        """The words of a document that decide: `3:1 3:4`, sentence and word counted from 0."""

        of: str | None = None
        """The document; default: the only one."""

    type = "evidence"
    roles: ClassVar[tuple[str, ...]] = ("truth",)

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, of=_document(options, plan), field=options.field)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: the words that decide"

    @classmethod
    def between(cls, options: Any, plan: Plan) -> tuple[str, str] | None:
        return _document(options, plan), next(iter(plan.outputs))

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        documents = _documents(plan)
        if _document(options, plan) not in documents:
            mistakes.add(
                f"evidence is words of a document, and {_document(options, plan)!r} is none.",
                "of",
                fix=f"Say which:  of: {documents[0]}" if documents else "Add a column of type: document.",
            )

    def __init__(self, name: str, *, of: str, field: str | None = None) -> None:
        super().__init__(name, field=field, of=(of,))

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        if value is None:
            return "is missing"
        wrong = next((pair for pair in value.split() if not _PAIR.fullmatch(pair)), None)
        return None if wrong is None else f"has {wrong!r}, expected sentences and words such as 3:1 3:4"

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        lengths = sentence_lengths(beside[self.of[0]])
        for sentence, word in encoded.reshape(-1, 2).tolist():
            if sentence >= len(lengths):
                return f"names sentence {sentence}, but {self.of[0]} has {len(lengths)} sentences"
            if word >= lengths[sentence]:
                return f"names word {word} of sentence {sentence}, which has {lengths[sentence]} words"
        return None

    def encode(self, value: str) -> Array:
        reason = self.check_value(value)
        if reason:
            raise RegardError(f"the evidence column {reason}.", where=self.name)
        pairs = [pair.split(":") for pair in value.split()]
        return np.array([int(number) for pair in pairs for number in pair], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(f"{sentence}:{word}" for sentence, word in _pairs(ids))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return (value if isinstance(value, str) else self.decode(value)).split()

    def cost(self, encoded: Array) -> int:
        """Nothing of its own."""
        return 0

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Evidence:
        """The sentences (B, 1, S) of the document, and the words of each row."""
        rows = Ragged.of(encoded)
        words = tuple(tuple(_pairs(rows[row])) for row in range(len(rows)))
        longest = int(beside[self.of[0]].lengths.max()) if beside else 0
        longest = max([longest, *(sentence + 1 for row in words for sentence, _ in row)])
        shares = torch.zeros(len(rows), 1, longest)
        for row, pairs in enumerate(words):
            chosen = sorted({sentence for sentence, _ in pairs})
            shares[row, 0, chosen] = 1 / max(len(chosen), 1)
        return Evidence(shares, words)

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0]}


def _pairs(ids: Sequence[int] | Array) -> list[tuple[int, int]]:
    return [(int(sentence), int(word)) for sentence, word in np.asarray(ids, dtype=np.int64).reshape(-1, 2)]


def _documents(plan: Plan) -> list[str]:
    return [name for name, column in plan.inputs.items() if column.type in ("document", "story")]


def _document(options: Any, plan: Plan) -> str:
    return options.of or next(iter(_documents(plan)), next(iter(plan.inputs)))
