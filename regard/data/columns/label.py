"""A label: one of a few classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import UNSEEN
from regard.data.columns.classed import ClassedColumn
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import register


@register("column", "label")
class LabelColumn(ClassedColumn):
    """A class as its number; classes are numbered from 0, in the given order or else sorted.

    A class that the training data lack is not an error in the data. It is encoded as UNSEEN, and every prediction for
    it is wrong. If the classes are given, however, any other class is refused.
    """

    class Options(ClassedColumn.Options):
        """One of several classes."""

        classes: tuple[str, ...] | None = None
        """Names of the classes; default: those in the training data. If given, a row with another class is a bad row,
        in dev and test too."""
        optional: bool = False
        """Whether rows may lack the class: they train the other outputs, and no metric of this one counts them."""

    type = "label"
    classed = True
    has_remark = True
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("accuracy",)
    decoder = "label"
    scalar = True

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: one of {len(options.classes)} classes" if options.classes else f"{name}: a class"

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        classes: Sequence[str] | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__(name, field=field)
        self.may_lack = optional
        self._given = None if classes is None else [str(value).strip() for value in classes]
        if self._given is not None and len(set(self._given)) < len(self._given):
            raise RegardError("the classes given are not all different.", where=name)
        self._set_classes(self._given or [])

    def exported(self) -> dict[str, Any]:
        return {"form": "class", "classes": self.classes}

    def classes_in(self, value: str) -> list[str]:
        return [value.strip()]

    def learn(self, values: Iterable[str]) -> None:
        self.learn_counts(Counter(values).items())

    @property
    def learns_counts(self) -> bool:
        return type(self) is LabelColumn

    @property
    def learns_from(self) -> Any:
        return self.options()

    def learn_counts(self, counts: Iterable[tuple[str, int]]) -> None:
        found: Counter[str] = Counter()
        for value, count in counts:
            if value.strip() or not self.may_lack:
                found[value.strip()] += count
        self._set_classes(self._given if self._given is not None else sorted(found))
        self.counts = [found[value] for value in self.classes]

    def check_value(self, value: str | None) -> str | None:
        if self.may_lack and not (value or "").strip():
            return None
        reason = super().check_value(value)
        if reason or value is None or self._given is None or value.strip() in self._numbers:
            return reason
        return f"has {unknown_class(value.strip(), self.classes, 'class')}"

    def encode(self, value: str) -> Array:
        number = self._numbers.get(value.strip(), UNSEEN)
        if number == UNSEEN and self._given is not None and not (self.may_lack and not value.strip()):
            what = unknown_class(value.strip(), self.classes, "class")
            raise RegardError(f"this is {what}.", where=self.name)
        return np.array(number, dtype=np.int32)

    def unseen(self, value: str) -> list[str]:
        known = value.strip() in self._numbers or (self.may_lack and not value.strip())
        return [] if known else [value.strip()]

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """The number of rows with a class that the training data lack, and of rows without a class."""
        counts: Counter[str] = Counter()
        total = lacking = 0
        for text, _ in rows:
            total += 1
            lacking += not text.strip()
            counts.update(self.unseen(text))
        unseen = unseen_remark(counts, f"{total:,} rows", "class", "classes")
        without = lacking_remark(lacking, total) if self.may_lack else None
        return "; ".join(one for one in (without, unseen) if one) or None

    def decode(self, ids: Sequence[int] | int) -> str:
        """The class with this number, or with the only number of a sequence."""
        return self.classes[int(np.reshape(ids, -1)[0])]

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return [value.strip() if isinstance(value, str) else self.decode(value)]

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B,) int64"""
        return torch.from_numpy(Ragged.of(encoded).values.astype(np.int64))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "classes": self._given, **({"optional": True} if self.may_lack else {})}


def rows_with_unseen(texts: Iterable[str], unseen: Callable[[str], Sequence[str]]) -> str | None:
    """The number of rows with a class that the training data lack."""
    counts: Counter[str] = Counter()
    total = 0
    for text in texts:
        total += 1
        counts.update(unseen(text)[:1])
    return unseen_remark(counts, f"{total:,} rows", "class", "classes")


def unseen_remark(counts: Counter[str], of: str, one: str, several: str) -> str | None:
    """3 of 100 rows have classes that training never saw (x, y): counted as errors, left out of the loss."""
    if not counts:
        return None
    shown = ", ".join(sorted(counts)[:5]) + (", …" if len(counts) > 5 else "")
    found = sum(counts.values())
    kinds = f"a {one}" if len(counts) == 1 else several
    verb = "has" if found == 1 else "have"
    return (
        f"{found:,} of {of} {verb} {kinds} that training never saw ({shown}): counted as errors, "
        "left out of the loss"
    )


def lacking_remark(lacking: int, total: int) -> str | None:
    """3 of 100 rows have no class: left out of its loss and of its metrics."""
    if not lacking:
        return None
    verb = "has" if lacking == 1 else "have"
    return f"{lacking:,} of {total:,} rows {verb} no class: left out of its loss and of its metrics"


def unknown_class(value: str, classes: Sequence[str], kind: str) -> str:
    """The {kind} 'x', not among the 3 known …, with the nearest of them."""
    nearest = get_close_matches(value, classes, n=1)
    shown = ", ".join(classes[:8]) + (", …" if len(classes) > 8 else "")
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"the {kind} {value!r}, not among the {len(classes)} known ({shown}){hint}"
