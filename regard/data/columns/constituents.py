"""Constituents: a tree in brackets over the pieces of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import UNLABELED, UNSEEN, SpanLabels
from regard.data.brackets import WORD, BracketError, BracketTree, read_brackets
from regard.data.columns.classed import ClassedColumn
from regard.data.columns.column import Column
from regard.data.columns.label import unseen_remark
from regard.data.columns.tags import check_of
from regard.data.constituents import Spans, labeled_spans, tree_of_spans
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, register

NUMBERS = 3
"""Numbers per constituent in the encoding: first word, last word, label."""


@lru_cache(8)
def _read(value: str) -> BracketTree:
    """A value is read by several methods, one after the other."""
    return read_brackets(value)


@register("column", "constituents")
class ConstituentsColumn(ClassedColumn):
    """A tree such as (S (NP (DET the) (NOUN dog)) (VP slept)) over the pieces of the column `of`.

    A class is the label of a span: the names of all nodes over the same words, outermost first, as `NP PRON`. The
    encoding has three numbers per constituent: its first word, its last word, its class; each word has an entry, with
    the class UNLABELED if it has no tag.
    """

    class Options(Column.Options):
        """A tree in brackets over the tokens of another column: `(S (NP (DET the) (NOUN dog)) (VP slept))`."""

        of: str
        """The input whose tokens are the words of the tree."""

    type = "constituents"
    classed = True
    has_remark = True
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("bracket_f1", "unlabeled_bracket_f1")
    decoder = "constituents"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: a tree in brackets over the tokens of {options.of}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_of(options.of, plan, mistakes)

    def __init__(self, name: str, *, of: str, field: str | None = None) -> None:
        super().__init__(name, of=of, field=field)

    def tree(self, value: str) -> BracketTree:
        try:
            return _read(value)
        except BracketError as error:
            fix = "Write a tree such as (S (NP you) (VP (V did) (NP it)))."
            raise RegardError(f"{value[:60]!r} {error}.", where=self.name, fix=fix) from error

    def classes_in(self, value: str) -> Iterable[str]:
        try:
            return labeled_spans(_read(value)).values()
        except BracketError:
            return ()  # the row is refused, with its location, when it is encoded

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        try:
            _read(value)
        except BracketError as error:
            return str(error)
        return None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        found, expected = _words(encoded), len(beside[self.of[0]])
        return None if found == expected else f"has {found} words for {expected} tokens of {self.of[0]}"

    def encode(self, value: str) -> Array:
        tree = self.tree(value)
        spans = {(place, place): UNLABELED for place in range(len(tree.leaves))}
        for span, label in labeled_spans(tree).items():
            spans[span] = self._numbers.get(label, UNSEEN)
        rows = [(first, last, number) for (first, last), number in spans.items()]
        return np.array(rows, dtype=np.int32).reshape(-1)

    def unseen(self, value: str) -> list[str]:
        return [label for label in self.classes_in(value) if label not in self._numbers]

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """The number of labels that the training data lack."""
        counts: Counter[str] = Counter()
        total = 0
        for text, encoded in rows:
            total += len(encoded) // NUMBERS
            counts.update(self.unseen(text))
        return unseen_remark(counts, f"{total:,} constituents", "label", "labels")

    def reference(self, value: str) -> str:
        return self.tree(value).written()

    def label(self, number: int) -> str:
        """The label of a span: empty if it has none, `?` if the training data lack it."""
        return "" if number == UNLABELED else "?" if number < 0 else self.classes[number]

    def bracketed(self, words: Sequence[str], labels: Array) -> BracketTree:
        """The tree over some words, from the numbers of labels (N, N) of their spans."""
        spans: Spans = {
            (int(first), int(last)): self.label(int(labels[first, last]))
            for first, last in np.argwhere(np.asarray(labels) != UNLABELED)
        }
        return tree_of_spans(words, spans)

    def decode(self, ids: Sequence[int]) -> str:
        """The tree with XX for each word."""
        rows = np.reshape(np.asarray(ids), (-1, NUMBERS))
        spans = {(int(first), int(last)): self.label(int(number)) for first, last, number in rows}
        return tree_of_spans([WORD] * _words(np.asarray(ids)), spans).written()

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return (value if isinstance(value, str) else self.decode(value)).split()

    def cost(self, encoded: Array) -> int:
        """Number of words."""
        return _words(encoded)

    def collate(
        self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None
    ) -> SpanLabels:
        """labels (B, N, N), lengths (B,)"""
        given = Ragged.of(encoded)
        rows = [np.reshape(given[row], (-1, NUMBERS)) for row in range(len(given))]
        lengths = [_words(one) for one in rows]
        size = max(lengths, default=0)
        labels = np.full((len(rows), size, size), UNLABELED, dtype=np.int64)
        for table, one in zip(labels, rows, strict=True):
            table[one[:, 0], one[:, 1]] = one[:, 2]
        return SpanLabels(torch.from_numpy(labels), torch.tensor(lengths))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0]}


def _words(encoded: Array) -> int:
    """Number of words of an encoding: the last of them, plus one."""
    rows = np.reshape(encoded, (-1, NUMBERS))
    return int(rows[:, 1].max(initial=-1)) + 1
