"""Several labels: any number of a few classes, also none."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.classed import ClassedColumn
from regard.data.columns.column import Column
from regard.data.columns.label import rows_with_unseen, unknown_class
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import LISTED
from regard.errors import RegardError
from regard.parts import register

_NUMBERS = re.compile(r"-?\d+( -?\d+)+", re.ASCII)
"""A JSON list of whole numbers, as readers give it."""


@register("column", "multilabel")
class MultilabelColumn(ClassedColumn):
    """`sport|music`, `["sport", "music"]` or a list of JSON lines: the classes of a row, in any order; empty: none.

    The encoding lists the numbers of the classes; in a batch, a row is a vector with 1 for each of them. A class that
    the training data lack is left out of it, and counts as an error. If the classes are given, any other is refused.

    rows   number of training rows, for class weights
    """

    class Options(ClassedColumn.Options):
        """Any number of several classes: `sport|music`, or a list."""

        separator: str = "|"
        """Separates the classes in a text."""
        classes: tuple[str, ...] | None = None
        """Names of the classes; default: those in the training data. If given, a row with another class is a bad row,
        in dev and test too."""

    type = "multilabel"
    classed = True
    listed = True
    has_remark = True
    may_be_empty = True
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("micro_f1", "macro_f1", "exact")
    decoder = "multilabel"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: any of {len(options.classes) if options.classes else 'several'} classes"

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        separator: str = "|",
        classes: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, field=field)
        if not separator:
            raise RegardError("separator is empty, expected a text such as |.", where=name)
        self.separator, self.rows = separator, 0
        self._given = None if classes is None else [str(value).strip() for value in classes]
        if self._given is not None and len(set(self._given)) < len(self._given):
            raise RegardError("the classes given are not all different.", where=name)
        self._set_classes(self._given or [])

    def exported(self) -> dict[str, Any]:
        return {"form": "set", "classes": self.classes, "separator": self.separator}

    def classes_in(self, value: str) -> list[str]:
        """The classes of a value, each once, as written."""
        return classes_of(value, self.separator)

    def learn(self, values: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        self.rows = 0
        for value in values:
            self.rows += 1
            counts.update(self.classes_in(value))
        self._set_classes(self._given if self._given is not None else sorted(counts))
        self.counts = [counts[name] for name in self.classes]
        if not self.classes:
            raise RegardError("no row of the training data has a class.", where=self.name)

    def check_value(self, value: str | None) -> str | None:
        if value is None:
            return super().check_value(value)
        if value.lstrip().startswith("[") and LISTED not in value and _json_list(value) is None:
            return f"has {value[:40]!r}, expected classes such as a{self.separator}b, or a JSON list of texts"
        if self._given is not None:
            wrong = next((one for one in self.classes_in(value) if one not in self._numbers), None)
            return None if wrong is None else f"has {unknown_class(wrong, self.classes, 'class')}"
        return None

    def encode(self, value: str) -> Array:
        """(n,) the numbers of the classes, in ascending order"""
        found = sorted(self._numbers[one] for one in self.classes_in(value) if one in self._numbers)
        return np.array(found, dtype=np.int32)

    def written(self, value: Any) -> str:
        """Text as it is; a list, tuple or set of classes as text."""
        if isinstance(value, list | tuple | set | frozenset):
            return "".join(f"{one}{LISTED}" for one in value) or LISTED
        return super().written(value)

    def reference(self, value: str) -> list[str]:
        """The classes in the order of their numbers, then those that training never saw."""
        return self.in_order(self.classes_in(value))

    def shown(self, value: Any, pieces: Sequence[str] = ()) -> str:
        return self.separator.join(value)

    def in_order(self, classes: Iterable[str]) -> list[str]:
        return sorted(classes, key=lambda one: (self._numbers.get(one, self.size), one))

    def unseen(self, value: str) -> list[str]:
        return [one for one in self.classes_in(value) if one not in self._numbers]

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """The number of rows with a class that the training data lack."""
        return rows_with_unseen((text for text, _ in rows), self.unseen)

    def decode(self, ids: Sequence[int]) -> str:
        return self.separator.join(self.tokens(ids))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        if isinstance(value, str):
            return self.classes_in(value)
        return [self.classes[int(number)] for number in value]

    def cost(self, encoded: Array) -> int:
        """1: a row has one look for each class, however many it has."""
        return 1

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B, C) float32, 1 for each class of a row"""
        rows = Ragged.of(encoded)
        table = np.zeros((len(rows), self.size), dtype=np.float32)
        table[np.repeat(np.arange(len(rows)), rows.lengths), rows.values.astype(np.int64)] = 1.0
        return torch.from_numpy(table)

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "separator": self.separator, "classes": self._given}

    def learned(self) -> dict[str, Any]:
        return {**super().learned(), "rows": self.rows}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        super().relearn(learned)
        self.rows = int(learned["rows"])

    def inherit(self, other: Column) -> None:
        rows = self.rows
        super().inherit(other)
        self.rows = rows


def classes_of(value: str, separator: str = "|") -> list[str]:
    """The classes that a value names, each once, as written: `a|b`, `["a", "b"]`, or the texts of a list."""
    if LISTED in value:
        parts = value.split(LISTED)
    elif value.lstrip().startswith("["):
        parts = _json_list(value) or []
    elif _NUMBERS.fullmatch(value):
        parts = value.split()
    else:
        parts = value.split(separator)
    return list(dict.fromkeys(one for part in parts if (one := part.strip())))


def _json_list(value: str) -> list[str] | None:
    """The texts of a JSON list; None for anything else."""
    try:
        found = json.loads(value)
    except ValueError:
        return None
    usable = isinstance(found, list) and all(
        isinstance(one, str | int) and not isinstance(one, bool) for one in found
    )
    return [str(one) for one in found] if usable else None
