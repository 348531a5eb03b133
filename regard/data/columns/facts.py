"""Supporting facts: which sentences of a story lead to the answer, in the order they are needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import Tokens
from regard.data.columns.column import Column
from regard.data.columns.document import BREAK
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, register

_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


@register("column", "facts")
class FactsColumn(Column):
    """Numbers of sentences of the story column it is `of`, counted from 0: "3 0". None at all is allowed."""

    class Options(Column.Options):
        """The sentences of a story that lead to the answer, in their order: `3 0`, counted from 0."""

        of: str | None = None
        """The story; default: the only one."""

    type = "facts"
    roles: ClassVar[tuple[str, ...]] = ("truth",)

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, of=_story(options, plan), field=options.field)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: the sentences that lead to the answer"

    @classmethod
    def between(cls, options: Any, plan: Plan) -> tuple[str, str] | None:
        return _story(options, plan), next(iter(plan.outputs))

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        stories = _stories(plan)
        if _story(options, plan) not in stories:
            mistakes.add(
                f"facts are sentences of a story, and {_story(options, plan)!r} is none.",
                "of",
                fix=f"Say which:  of: {stories[0]}" if stories else "Add a column of type: story.",
            )

    def __init__(self, name: str, *, of: str, field: str | None = None) -> None:
        super().__init__(name, field=field, of=(of,))

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        if value is None:
            return "is missing"
        wrong = next((word for word in value.split() if not _NUMBER.fullmatch(word)), None)
        return None if wrong is None else f"has {wrong!r}, expected numbers of sentences such as 3 0"

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        sentences = int(np.count_nonzero(beside[self.of[0]] == BREAK))
        if len(encoded) and int(encoded.max()) >= sentences:
            return (
                f"names sentence {int(encoded.max())}, but {self.of[0]} has {sentences} sentences "
                f"(0 to {sentences - 1})"
            )
        return None

    def encode(self, value: str) -> Array:
        reason = self.check_value(value)
        if reason:
            raise RegardError(f"the facts column {reason}.", where=self.name)
        return np.array([int(word) for word in value.split()], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(str(int(number)) for number in ids)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return (value if isinstance(value, str) else self.decode(value)).split()

    def cost(self, encoded: Array) -> int:
        """Nothing of its own."""
        return 0

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tokens:
        """ids (B, F) numbers of sentences, lengths (B,) how many facts there are."""
        rows = Ragged.of(encoded)
        return Tokens(torch.from_numpy(rows.padded()), torch.from_numpy(rows.lengths))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0]}


def _stories(plan: Plan) -> list[str]:
    return [name for name, column in plan.inputs.items() if column.part.of_sentences]


def _story(options: Any, plan: Plan) -> str:
    return options.of or next(iter(_stories(plan)), next(iter(plan.inputs)))
