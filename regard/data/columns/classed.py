"""Columns whose values consist of classes: they learn the classes and their frequencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from regard.data.columns.column import Column
from regard.data.columns.vocabulary import new_unit


class ClassedColumn(Column):
    """Classes are numbered from 0 in sorted order. `classes_in` returns the classes of one value.

    counts   frequency of each class in the training data, for class weights
    """

    has_units = True

    def __init__(self, name: str, *, of: str | None = None, field: str | None = None) -> None:
        super().__init__(name, field=field, of=() if of is None else (of,))
        self.counts: list[int] = []
        self._set_classes([])

    def _set_classes(self, classes: Sequence[str]) -> None:
        self.classes = list(classes)
        self._numbers = {name: number for number, name in enumerate(self.classes)}

    @property
    def size(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def classes_in(self, value: str) -> Iterable[str]:
        raise NotImplementedError

    def learn(self, values: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        for value in values:
            counts.update(self.classes_in(value))
        self._set_classes(sorted(counts))
        self.counts = [counts[name] for name in self.classes]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.tokens(ids))

    def learned(self) -> dict[str, Any]:
        return {"classes": self.classes, "counts": self.counts}

    def pretend(self, size: int) -> None:
        self._set_classes([f"unit{number}" for number in range(size)])
        self.counts = [1] * size

    def units(self) -> dict[str, Sequence[Hashable]]:
        return {"classes": self.classes}

    def grow(self, kind: str) -> None:
        self._set_classes([*self.classes, new_unit(self.classes)])
        self.counts = [*self.counts, 1]

    def inherit(self, other: Column) -> None:
        """Take the classes; their frequencies stay those of the training data."""
        counts = dict(zip(self.classes, self.counts, strict=True))
        super().inherit(other)
        self.counts = [counts.get(name, 0) for name in self.classes]

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self._set_classes(learned["classes"])
        self.counts = list(learned["counts"])
