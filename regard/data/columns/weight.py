"""The weight of a row in the loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.column import Column
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, nearest, register


@register("column", "weight")
class WeightColumn(Column):
    """A number from 0: the loss of a row counts that many times. 0 leaves the row out of the loss."""

    class Options(Column.Options):
        """The weight of a row in the loss, a number from 0; a row of weight 0 trains nothing."""

        of: str | None = None
        """The output whose loss it weights; default: all outputs."""

    type = "weight"
    roles: ClassVar[tuple[str, ...]] = ("truth",)
    scalar = True
    dtype = np.float32

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, field=options.field)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: the weight of a row in the loss{f' of {options.of}' if options.of else ''}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.of is not None and options.of not in plan.outputs:
            mistakes.add(
                f"no output is named {options.of!r}.", "of", fix=nearest(options.of, list(plan.outputs))
            )
            return
        for output, decoder in plan.decoder.items():
            if options.of not in (None, output):
                continue
            if plan.outputs[output].part.alone:
                mistakes.add(
                    f"{output} is one running text, which has no rows to weight.",
                    "of",
                    fix="Leave the column out, or repeat what should count more in the text.",
                )
            elif not decoder.part.weighs:
                mistakes.add(
                    f"a {decoder.type} decoder cannot weight rows: it does not say that its loss is a sum over rows.",
                    "of",
                    fix="Name an output of another decoder, or leave the column out. Its author can set weighs = True.",
                )

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        return None if 0 <= number < float("inf") else f"has {value[:40]!r}, expected a number from 0"

    def encode(self, value: str) -> Array:
        return np.array(float(value), dtype=np.float32)

    def decode(self, ids: Sequence[int]) -> str:
        raise RegardError("a weight cannot be an output.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return [value.strip()] if isinstance(value, str) else []

    def cost(self, encoded: Array) -> int:
        """0: it takes no room."""
        return 0

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tensor:
        """(B,) float32"""
        return torch.from_numpy(Ragged.of(encoded).values.astype(np.float32))

    def options(self) -> dict[str, Any]:
        return {"field": self.field}
