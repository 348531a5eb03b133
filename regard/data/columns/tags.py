"""Tags: one label for each piece of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import UNSEEN, Tokens
from regard.data.columns.classed import ClassedColumn
from regard.data.columns.column import Column
from regard.data.columns.label import unseen_remark
from regard.data.columns.spans import Scheme, first_fault, rewrite
from regard.data.ragged import Array, Ragged
from regard.parts import Mistakes, Plan, nearest, register


@register("column", "tags")
class TagsColumn(ClassedColumn):
    """Tags separated by spaces, one for each piece of the column `of`.

    Tags are numbered from 0 in sorted order. There are no special ids: only the lengths tell padding (0) from the first
    tag.

    scheme    convert tags that mark spans to this scheme; IOB1, BIO and BIOES are read
    allowed   refuse sequences that violate this scheme
    """

    class Options(Column.Options):
        """One label for each token of another column."""

        of: str
        """The input whose tokens are tagged."""
        scheme: Scheme | None = None
        """For tags that mark spans (B-NP I-NP O): the scheme to convert them to; default: no conversion."""

    type = "tags"
    classed = True
    has_remark = True
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("tag_accuracy",)
    decoder = "tags"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: a tag for each token of {options.of}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_of(options.of, plan, mistakes)

    def __init__(
        self,
        name: str,
        *,
        of: str,
        field: str | None = None,
        scheme: Scheme | None = None,
        allowed: Scheme | None = None,
    ) -> None:
        super().__init__(name, of=of, field=field)
        self.scheme, self.allowed = scheme, allowed

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        return None if self.allowed is None else first_fault(self.classes_in(value), self.allowed)

    def exported(self) -> dict[str, Any]:
        return {"form": "classes", "classes": self.classes, "of": self.of[0]}

    def classes_in(self, value: str) -> list[str]:
        tags = value.split()
        return tags if self.scheme is None else rewrite(tags, self.scheme)

    def normalize(self, value: str) -> str:
        """The tags as `decode` would return them."""
        return " ".join(self.classes_in(value))

    def reference(self, value: str) -> list[str]:
        return self.classes_in(value)

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        expected = len(beside[self.of[0]])
        return (
            None
            if len(encoded) == expected
            else f"has {len(encoded)} tags for {expected} tokens of {self.of[0]}"
        )

    def encode(self, value: str) -> Array:
        """The numbers of the tags; UNSEEN for a tag that the training data lack, for which every prediction is
        wrong."""
        return np.array([self._numbers.get(tag, UNSEEN) for tag in self.classes_in(value)], dtype=np.int32)

    def unseen(self, value: str) -> list[str]:
        return [tag for tag in self.classes_in(value) if tag not in self._numbers]

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """The number of tags that the training data lack."""
        counts: Counter[str] = Counter()
        total = 0
        for text, encoded in rows:
            total += len(encoded)
            if encoded.min(initial=0) == UNSEEN:
                tags = zip(self.classes_in(text), encoded.tolist(), strict=True)
                counts.update(tag for tag, number in tags if number == UNSEEN)
        return unseen_remark(counts, f"{total:,} words", "tag", "tags")

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        if isinstance(value, str):
            return value.split()
        return ["_" if int(number) == UNSEEN else self.classes[int(number)] for number in value]

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tokens:
        """ids (B, T), lengths (B,)"""
        rows = Ragged.of(encoded)
        return Tokens(torch.from_numpy(rows.padded()), torch.from_numpy(rows.lengths))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0], "scheme": self.scheme, "allowed": self.allowed}


def check_of(of: str, plan: Plan, mistakes: Mistakes) -> None:
    """Check that the input `of` exists."""
    if of not in plan.inputs:
        mistakes.add(f"no input is named {of!r}.", "of", fix=nearest(of, list(plan.inputs)))
