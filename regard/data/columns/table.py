"""A table: cells with the name of a field and a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from regard.data.batch import Sentences
from regard.data.columns.document import BREAK, documents, sentence_lengths, split_sentences
from regard.data.columns.named import NamedColumn, NamedOptions
from regard.data.ragged import Array, Ragged
from regard.data.table_cells import TableCells, cells
from regard.parts import Count, Mistakes, Plan, register
from regard.trace import SeenTable


@register("column", "table")
class TableColumn(NamedColumn):
    """TableCells in any order: `name=The Mill|food=Italian`, or JSON. TableCells without a value are left out.

    The encoding has the number of the field, the units of the value and −1 for each cell.

    max_cells    maximum number of cells
    max_length   maximum length of a value
    """

    class Options(NamedOptions):
        """Fields and their values, in any order: `name=The Mill|food=Italian`, or JSON `{"name": "The Mill", …}`."""

        unit: Literal["word", "char"] = "word"
        """Unit of the values."""
        max_cells: Count = 200
        """Maximum number of cells."""
        max_length: Count = 100
        """Longest value allowed, in units."""

    type = "table"
    kind: ClassVar[str] = "fields"
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    stands_for: ClassVar[tuple[str, ...] | None] = ()
    encoder = "table"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: cells, each a field and a value of {options.unit}s"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.unit == "char" and options.split != "space":
            mistakes.add("split has no effect: it belongs to unit: word.", "split", fix="Leave split out.")

    def __init__(
        self, name: str, *, max_cells: int | None = 200, max_length: int | None = 100, **options: Any
    ) -> None:
        super().__init__(name, **options)
        self.max_cells, self.longest = max_cells, max_length

    def texts_and_names(self, text: str) -> tuple[list[str], list[str]]:
        found = cells(text)
        return [value for _, value in found], [field for field, _ in found]

    def pieces(self, text: str) -> list[list[str]]:
        """The units of each value."""
        return [self.words.pieces(value) for value in self.sentences(text)]

    def check_encoded(self, encoded: Array) -> str | None:
        lengths = sentence_lengths(encoded) - 1
        if self.max_cells is not None and len(lengths) > self.max_cells:
            return f"has {len(lengths)} cells, more than max_cells {self.max_cells}"
        if self.longest is not None and int(lengths.max(initial=0)) > self.longest:
            return (
                f"has a value of {int(lengths.max())} {self.words.unit}s, more than max_length {self.longest}"
            )
        return None

    def encode(self, value: str) -> Array:
        found: list[int] = []
        for field, text in cells(value):
            found += [self.names.id(field), *self.words.vocabulary.ids(self.words.pieces(text)), BREAK]
        return np.array(found, dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return "|".join(
            f"{self.names.piece(field)}={self.words.decode(value)}" for field, *value in split_sentences(ids)
        )

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """`food: Italian` for each cell."""
        if isinstance(value, str):
            return [f"{field}: {text}" for field, text in cells(value)]
        return [
            f"{self.names.piece(field)}: {self.words.decode(text)}" for field, *text in split_sentences(value)
        ]

    def readable(self, collated: Any) -> list[list[str]]:
        named = iter(collated.names.tolist())
        return [
            [f"{self.names.piece(next(named))}: {self.words.decode(value)}" for value in row]
            for row in documents(collated)
        ]

    def seen(self, collated: TableCells, row: int) -> SeenTable:
        named = collated.laid_names()[row, : int(collated.lengths[row])].tolist()
        return SeenTable(tuple(self.names.piece(number) for number in named))

    def collate(
        self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None
    ) -> TableCells:
        """The values as sentences, and the number of the field of each."""
        rows = Ragged.of(encoded)
        ends = np.flatnonzero(rows.values == BREAK)
        firsts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
        before = np.searchsorted(firsts, rows.offsets)  # (B + 1,) cells before each row
        values = Ragged(np.delete(rows.values, firsts), rows.offsets - before)
        made = super().collate(values)
        shared = {one.name: getattr(made, one.name) for one in fields(Sentences)}
        return TableCells(**shared, names=torch.from_numpy(rows.values[firsts].astype(np.int64)))

    def reduced(
        self, encoded: Array, kept: Array, *, words: bool = False, fill: bool = False
    ) -> Array | None:
        """Without some cells; with `fill`, their values become the unknown unit."""
        lengths = sentence_lengths(encoded)
        if words or len(kept) != len(lengths):
            return None
        found: list[int] = []
        for (field, *value), mark in zip(split_sentences(encoded), kept.tolist(), strict=True):
            if mark or fill:
                found += [field, *(value if mark else [1] * len(value)), BREAK]
        return np.array(found, dtype=encoded.dtype)

    def options(self) -> dict[str, Any]:
        return {**super().options(), "max_cells": self.max_cells, "max_length": self.longest}
