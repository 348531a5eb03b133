"""A span: the first and the last of some neighboring positions of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.column import Column
from regard.data.ragged import Array, Ragged
from regard.parts import Mistakes, Plan, nearest, register

_SPAN = re.compile(r"(\d{1,9})(?:\s*[- ]\s*(\d{1,9}))?", re.ASCII)
_BLANK = "▁"
"""Begins a subword before which there is a blank."""


@register("column", "span")
class SpanColumn(Column):
    """`3-5`: the words 3, 4 and 5 of the input `of`, counted from 0; `3` is one word; in JSON lines also [3, 5].

    longest   positions of the longest span that the decoder can find
    blank     between the pieces of an answer: a blank between words, nothing between characters
    """

    class Options(Column.Options):
        """Neighboring words of an input: `3-5`, first and last, counted from 0; `3` is one word."""

        of: str | None = None
        """The text that they are words of; default: the first input."""

    type = "span"
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("exact", "span_f1")
    decoder = "span"
    shows_pieces = True

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        of = options.of or next(iter(plan.inputs))
        words = getattr(plan.inputs[of], "unit", "word") == "word"
        return cls(name, of=of, field=options.field, blank=" " if words else "", **asked)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: neighboring words of {options.of or 'the input'}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        of = options.of or next(iter(plan.inputs), "")
        if of not in plan.inputs:
            mistakes.add(f"no input is named {of!r}.", "of", fix=nearest(of, list(plan.inputs)))
        elif not plan.inputs[of].part.can_be("text"):
            mistakes.add(
                f"{of} is of type {plan.inputs[of].type}; spans are of an input of type text.",
                "of",
                fix="Name an input of type: text.",
            )

    def __init__(
        self,
        name: str,
        *,
        of: str,
        field: str | None = None,
        blank: str = " ",
        longest: int | None = None,
    ) -> None:
        super().__init__(name, field=field, of=(of,))
        self.blank, self.longest = blank, longest

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        found = _SPAN.fullmatch(value.strip())
        if found is None:
            return f"has {value[:40]!r}, expected the first and the last word, counted from 0, such as 3-5"
        first, last = self.reference(value)
        if last < first:
            return f"has {value!r}, whose last word is before its first"
        if self.longest is not None and last - first >= self.longest:
            return (
                f"has {value!r}, a span of {last - first + 1} words; the decoder finds at most {self.longest} "
                "(its option longest)"
            )
        return None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        last, length = int(encoded[-1]), int(np.size(beside[self.of[0]]))
        if last < length:
            return None
        return f"names word {last}, but {self.of[0]} has {length} (0 to {length - 1})"

    def written(self, value: Any) -> str:
        """Text as it is; a pair of positions as text."""
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            return "-".join(str(int(one)) for one in value)
        return super().written(value)

    def reference(self, value: str) -> list[int]:
        found = _SPAN.fullmatch(value.strip())
        assert found is not None  # checked before
        return [int(found[1]), int(found[2] or found[1])]

    def encode(self, value: str) -> Array:
        """(2,) the first and the last position"""
        return np.array(self.reference(value), dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        first, last = (int(one) for one in ids)
        return str(first) if first == last else f"{first}-{last}"

    def shown(self, value: Any, pieces: Sequence[str] = ()) -> str:
        """The words of a span of these pieces."""
        words = self.blank.join(pieces[value[0] : value[1] + 1])
        return words.replace(_BLANK, " ").strip() or self.decode(value)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return [value.strip() if isinstance(value, str) else self.decode(value)]

    def cost(self, encoded: Array) -> int:
        """1: its size does not depend on the span."""
        return 1

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B, 2) int64"""
        return torch.from_numpy(Ragged.of(encoded).values.astype(np.int64).reshape(-1, 2))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0], "blank": self.blank, "longest": self.longest}
