"""A soft label: a distribution over a few classes, such as the votes of several annotators."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.classed import ClassedColumn
from regard.data.columns.label import rows_with_unseen, unknown_class
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import LISTED
from regard.errors import RegardError
from regard.parts import register

EXPECTED = "expected classes with their shares, such as pos:0.7 neg:0.3"


@register("column", "soft-label")
class SoftLabelColumn(ClassedColumn):
    """`pos:0.7 neg:0.3`: the share of each class. Shares are divided by their sum, so that `pos:7 neg:3`, the votes of
    ten people, is the same; a class alone, `pos`, has all. If the classes are given, numbers suffice: `0.7 0.3`.

    The encoding is the share of each class. The share of a class that the training data lack is left out of the loss.
    """

    class Options(ClassedColumn.Options):
        """A distribution over several classes: `pos:0.7 neg:0.3`, or columns with their shares."""

        classes: tuple[str, ...] | None = None
        """Names of the classes, in the order of the numbers if a row has numbers alone (`field: FIRST..LAST` reads a
        range of columns); default: those in the training data."""

    type = "soft-label"
    classed = True
    has_remark = True
    listed = True
    dtype = np.float32
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("cross_entropy", "accuracy")
    decoder = "soft-label"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: a distribution over {len(options.classes) if options.classes else 'several'} classes"

    def __init__(self, name: str, *, field: str | None = None, classes: Sequence[str] | None = None) -> None:
        super().__init__(name, field=field)
        self._given = None if classes is None else [str(value).strip() for value in classes]
        if self._given is not None and len(set(self._given)) < len(self._given):
            raise RegardError("the classes given are not all different.", where=name)
        self._set_classes(self._given or [])

    def shares(self, value: str) -> dict[str, float]:
        """The share of each class of a value, as written, divided by their sum."""
        found = self._read(value)
        if isinstance(found, str):
            raise RegardError(f"{found}.", where=self.name)
        return found

    def _read(self, value: str) -> dict[str, float] | str:
        """The shares, or why they cannot be read."""
        parts = [one.strip() for one in (value.split(LISTED) if LISTED in value else value.split())]
        parts = [one for one in parts if one]
        if self._given is not None and parts and all(_number(one) is not None for one in parts):
            if len(parts) != len(self._given):
                return f"has {len(parts)} numbers, expected {len(self._given)}, one for each class"
            pairs = list(zip(self._given, map(float, parts), strict=True))
        else:
            pairs = []
            for one in parts:
                name, colon, share = one.rpartition(":")
                number = _number(share) if colon else 1.0
                if number is None or not (name if colon else share):
                    return f"has {value[:40]!r}, {EXPECTED}"
                pairs.append((name if colon else share, number))
        total = sum(share for _, share in pairs)
        if len(dict(pairs)) < len(pairs):
            return f"has a class twice in {value[:40]!r}"
        if any(share < 0 for _, share in pairs) or not 0 < total < math.inf:
            return f"has {value[:40]!r}, expected shares from 0 with a sum above 0"
        return {name: share / total for name, share in pairs}

    def classes_in(self, value: str) -> list[str]:
        return list(self.shares(value))

    def learn(self, values: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        for value in values:
            counts.update({name: share for name, share in self.shares(value).items() if share > 0})
        self._set_classes(self._given if self._given is not None else sorted(counts))
        self.counts = [math.ceil(counts[value]) for value in self.classes]

    def check_value(self, value: str | None) -> str | None:
        if value is None or not value.strip():
            return super().check_value(value)
        found = self._read(value)
        if isinstance(found, str):
            return found
        wrong = next((one for one in found if self._given is not None and one not in self._numbers), None)
        return None if wrong is None else f"has {unknown_class(wrong, self.classes, 'class')}"

    def encode(self, value: str) -> Array:
        """(C) the share of each class"""
        table = np.zeros(self.size, dtype=np.float32)
        for name, share in self.shares(value).items():
            if name in self._numbers:
                table[self._numbers[name]] = share
        return table

    def written(self, value: Any) -> str:
        """Text as it is; a mapping of classes to shares, or a list of shares, as text."""
        if isinstance(value, Mapping):
            return "".join(f"{name}:{share}{LISTED}" for name, share in value.items())
        if isinstance(value, list | tuple | np.ndarray):
            return " ".join(str(float(one)) for one in value)
        return super().written(value)

    def reference(self, value: str) -> str:
        """The mode, which a right answer names; of equal shares the first class."""
        shares = self.shares(value)
        return min(shares, key=lambda one: (-shares[one], self._numbers.get(one, self.size), one))

    def unseen(self, value: str) -> list[str]:
        return [one for one, share in self.shares(value).items() if share > 0 and one not in self._numbers]

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """The number of rows with a class that the training data lack."""
        return rows_with_unseen((text for text, _ in rows), self.unseen)

    def decode(self, ids: Sequence[int] | int) -> str:
        """The class with this number, or with the only number of a sequence."""
        return self.classes[int(np.reshape(ids, -1)[0])]

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return self.classes_in(value) if isinstance(value, str) else [self.decode(value)]

    def cost(self, encoded: Array) -> int:
        """1: a row has one answer."""
        return 1

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B, C) float32"""
        rows = Ragged.of(encoded)
        return torch.from_numpy(rows.values.astype(np.float32)).view(len(rows), -1)

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "classes": self._given}


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
