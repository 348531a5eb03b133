"""Truth about the sentences of an input: indices of sentences, or of words in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from regard.data.columns.column import Column
from regard.data.columns.document import sentence_lengths
from regard.data.ragged import Array
from regard.data.readers.row import LISTED
from regard.errors import RegardError
from regard.parts import Mistakes, Plan


class SentenceTruthColumn(Column):
    """Items separated by blanks, each of one or more numbers separated by colons, counted from 0. The first number of
    an item is the index of a sentence of the input `of`. There may be no items.

    width     numbers per item
    expects   description of an item, with an example, for messages
    """

    class Options(Column.Options):
        """Options shared by the columns of truth about sentences."""

        of: str | None = None
        """The input that contains the sentences; default: the first input of sentences."""

    roles: ClassVar[tuple[str, ...]] = ("truth",)
    width: ClassVar[int] = 1
    expects: ClassVar[str] = ""

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, of=cls._source(options, plan), field=options.field)

    @classmethod
    def between(cls, options: Any, plan: Plan) -> tuple[str, str] | None:
        return cls._source(options, plan), next(iter(plan.outputs))

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        known, source = cls._known(plan), cls._source(options, plan)
        if source not in known:
            mistakes.add(
                f"a column of type {cls.type} needs an input of type story, document or dialog; {source!r} is not one.",
                "of",
                fix=f"Name one:  of: {known[0]}"
                if known
                else "Add an input of type: story, document or dialog.",
            )

    @classmethod
    def _known(cls, plan: Plan) -> list[str]:
        return [name for name, column in plan.inputs.items() if column.part.of_sentences]

    @classmethod
    def _source(cls, options: Any, plan: Plan) -> str:
        return options.of or next(iter(cls._known(plan)), next(iter(plan.inputs)))

    def __init__(self, name: str, *, of: str, field: str | None = None) -> None:
        super().__init__(name, field=field, of=(of,))

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        if value is None or LISTED in value:
            return super().check_value(value)
        item = re.compile(":".join([r"\d{1,9}"] * self.width), re.ASCII)
        wrong = next((word for word in value.split() if not item.fullmatch(word)), None)
        return None if wrong is None else f"has {wrong!r}, expected {self.expects}"

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        sentences = len(sentence_lengths(beside[self.of[0]]))
        last = max((item[0] for item in self.items(encoded)), default=0)
        if last < sentences:
            return None
        return f"names sentence {last}, but {self.of[0]} has {sentences} sentences (0 to {sentences - 1})"

    def items(self, encoded: Sequence[int] | Array) -> list[tuple[int, ...]]:
        """The numbers of each item of an encoding."""
        rows = np.asarray(encoded, dtype=np.int64).reshape(-1, self.width)
        return [tuple(row) for row in rows.tolist()]

    def encode(self, value: str) -> Array:
        reason = self.check_value(value)
        if reason:
            raise RegardError(f"the {self.type} column {reason}.", where=self.name)
        return np.array([int(number) for item in value.split() for number in item.split(":")], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(":".join(map(str, item)) for item in self.items(ids))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return (value if isinstance(value, str) else self.decode(value)).split()

    def cost(self, encoded: Array) -> int:
        """0."""
        return 0

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0]}
