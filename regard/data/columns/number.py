"""A number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.column import Column
from regard.data.ragged import Array, Ragged
from regard.parts import register

DIGITS = 6
"""Significant digits of a written number."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)


def is_decimal_comma(value: str) -> bool:
    """Whether a text is a number with a decimal comma: 12,5."""
    return _DECIMAL_COMMA.fullmatch(value.strip()) is not None


@register("column", "number")
class NumberColumn(Column):
    """A number as itself. Its mean and standard deviation in the training data are fitted for the decoder; without
    `standardize` they are 0 and 1."""

    class Options(Column.Options):
        """A number: a price, a rating, a length."""

        standardize: bool = True
        """Predict the number in standard deviations from the mean of the training data; false: as it is."""
        decimal: Literal["point", "comma"] = "point"
        """The decimal separator of the data, 12.5 or 12,5. Predictions are written with a point."""

    type = "number"
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("absolute_error", "rmse")
    decoder = "number"
    scalar = True
    dtype = np.float64

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        standardize: bool = True,
        decimal: Literal["point", "comma"] = "point",
    ) -> None:
        super().__init__(name, field=field)
        self.standardize, self.decimal = standardize, decimal
        self.mean, self.spread = 0.0, 1.0

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: a number"

    def learn(self, values: Iterable[str]) -> None:
        if not self.standardize:
            return
        # A value that is no number is refused, with its location, when its row is encoded.
        numbers = np.array([self._read(value) for value in values if self.check_value(value) is None])
        if numbers.size:
            self.mean, self.spread = float(numbers.mean()), float(numbers.std()) or 1.0

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        try:
            number = self._read(value)
        except ValueError:
            return f"is {value.strip()!r}, expected a number{self._remedy(value)}"
        return None if math.isfinite(number) else f"is {value.strip()}, expected a finite number"

    def _read(self, value: str) -> float:
        if self.decimal == "comma" and "." in value:
            raise ValueError("a point may separate thousands")
        return float(value.replace(",", ".") if self.decimal == "comma" else value)

    def _remedy(self, value: str) -> str:
        if self.decimal == "comma":
            return " with a decimal comma"
        comma = is_decimal_comma(value)
        return f"; outputs.{self.name}.decimal=comma reads decimal commas" if comma else ""

    def encode(self, value: str) -> Array:
        return np.array(self._read(value))

    def decode(self, ids: Sequence[float]) -> str:
        return f"{float(np.reshape(ids, -1)[0]):.{DIGITS}g}"

    def reference(self, value: str) -> float:
        return self._read(value)

    def written(self, value: Any) -> str:
        return repr(float(value)) if isinstance(value, int | float) else super().written(value)

    def tokens(self, value: str | Sequence[float]) -> list[str]:
        return [value.strip() if isinstance(value, str) else self.decode(value)]

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B,) float32"""
        return torch.from_numpy(Ragged.of(encoded).values.astype(np.float32))

    def options(self) -> dict[str, Any]:
        changed = {"standardize": self.standardize, "decimal": self.decimal}
        usual = {"standardize": True, "decimal": "point"}
        return {"field": self.field, **{key: one for key, one in changed.items() if one != usual[key]}}

    def learned(self) -> dict[str, Any]:
        return {"mean": self.mean, "spread": self.spread}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.mean, self.spread = learned["mean"], learned["spread"]
