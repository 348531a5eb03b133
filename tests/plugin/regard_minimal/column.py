"""A number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

import regard
from regard.data import Ragged
from regard.parts import Count


@regard.register("column", "amount")
class AmountColumn(regard.data.Column):
    """A number as itself. Its mean and spread in the training data are learned, for decoders that want them."""

    class Options(regard.data.Column.Options):
        """A number."""

        digits: Count = 4
        """Significant digits that are written."""

    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("amount_error",)
    decoder = "amount"
    scalar = True
    dtype = np.float64

    def __init__(self, name: str, *, field: str | None = None, digits: int = 4) -> None:
        super().__init__(name, field=field)
        self.digits, self.mean, self.spread = digits, 0.0, 1.0

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: a number"

    def learn(self, values: Iterable[str]) -> None:
        numbers = np.array([float(value) for value in values])
        self.mean, self.spread = float(numbers.mean()), float(numbers.std()) or 1.0

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        try:
            return None if math.isfinite(float(value)) else f"is {value.strip()}, expected a finite number"
        except ValueError:
            return f"is {value.strip()!r}, expected a number"

    def encode(self, value: str) -> Any:
        return np.array(float(value))

    def decode(self, ids: Sequence[float]) -> str:
        return f"{float(np.reshape(ids, -1)[0]):.{self.digits}g}"

    def reference(self, value: str) -> float:
        return float(value)

    def written(self, value: Any) -> str:
        return f"{value:g}" if isinstance(value, int | float) else super().written(value)

    def tokens(self, value: str | Sequence[float]) -> list[str]:
        return [value.strip() if isinstance(value, str) else self.decode(value)]

    def collate(self, encoded: Any, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B,) float32"""
        return torch.from_numpy(Ragged.of(encoded).values.astype(np.float32))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "digits": self.digits}

    def learned(self) -> dict[str, Any]:
        return {"mean": self.mean, "spread": self.spread}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.mean, self.spread = learned["mean"], learned["spread"]
