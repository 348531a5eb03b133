"""The group a row belongs to, such as its level of difficulty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.column import Column
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import register


@register("column", "group")
class GroupColumn(Column):
    """A value for grouping rows, which no model reads or writes."""

    class Options(Column.Options):
        """The group of a row: a level for `training.curriculum`, or a key for `regard evaluate --by`. The model does
        not read it."""

    type = "group"
    roles: ClassVar[tuple[str, ...]] = ("truth",)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: the group of a row, not read by the model"

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def encode(self, value: str) -> Array:
        """The bytes of the text."""
        return np.frombuffer(value.strip().encode("utf-8", errors="surrogatepass"), np.uint8).astype(np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        raise RegardError("a group cannot be an output.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return [value.strip()] if isinstance(value, str) else []

    def cost(self, encoded: Array) -> int:
        """0: batches do not contain it."""
        return 0

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B, 0)"""
        return torch.zeros(len(encoded), 0)

    def options(self) -> dict[str, Any]:
        return {"field": self.field}
