"""True places: where in a picture, film or sound lies what a token of the output names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from regard.data.columns.column import Column
from regard.data.perceived import Places
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError

_NUMBER = r"(?:0|1|0?\.\d+|1\.0*|0\.)"
_PLACE = re.compile(rf"(\d{{1,9}}):({_NUMBER}(?:,{_NUMBER}){{1}}(?:,{_NUMBER},{_NUMBER})?)", re.ASCII)
FINENESS = 1_000_000
"""Fractions are kept as whole numbers of millionths."""


class PlacesColumn(Column):
    """Places in the form "1:0.10,0.20,0.35,0.45": the token, counted from 0, and its box.

    A label has no tokens: there the number is that of the glimpse, 0 where all of them are to look there.

    The box is left, top, right and bottom as fractions of width and height; in time "1:0.10,0.25", begin and end as
    fractions of the duration.

    A token may have several places, and most have none. The encoding is flat: numbers of a place (2 or 4), then for
    each place its token and its fractions.
    """

    type = "places"
    usual = ("pointing",)

    def __init__(self, name: str, *, of: Sequence[str], field: str | None = None) -> None:
        super().__init__(name, field=field, of=of)
        if len(self.of) != 2:
            raise RegardError(
                f"of names {len(self.of)} columns, expected two: what is looked at and what is written.",
                where=name,
            )

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        if value is None:
            return "is missing"
        sizes = set()
        for place in value.split():
            found = _PLACE.fullmatch(place)
            if found is None:
                return f"has {place!r}, expected token:left,top,right,bottom or token:begin,end, from 0 to 1"
            numbers = [float(number) for number in found[2].split(",")]
            half = len(numbers) // 2
            if any(low >= high for low, high in zip(numbers[:half], numbers[half:], strict=True)):
                return f"has {place!r}, which is empty: its end is not after its beginning"
            sizes.add(len(numbers))
        return "mixes boxes and spans of time" if len(sizes) > 1 else None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        steps, _ = _parts(encoded)
        written = beside[self.of[1]]
        length = int(np.size(written))
        if np.ndim(written) and len(steps) and int(steps.max()) >= length:
            return f"names token {int(steps.max())}, but {self.of[1]} has {length} tokens (0 to {length - 1})"
        return None

    def encode(self, value: str) -> Array:
        reason = self.check_value(value)
        if reason:
            raise RegardError(f"the places field {reason}.", where=self.name)
        flat: list[int] = []
        size = 4
        for place in value.split():
            step, _, box = place.partition(":")
            fractions = [round(float(number) * FINENESS) for number in box.split(",")]
            size = len(fractions)
            flat += [int(step), *fractions]
        return np.array([size, *flat], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        steps, boxes = _parts(np.asarray(ids))
        return " ".join(
            f"{step}:{','.join(f'{fraction:g}' for fraction in box)}"
            for step, box in zip(steps.tolist(), boxes.tolist(), strict=True)
        )

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        return (value if isinstance(value, str) else self.decode(value)).split()

    def cost(self, encoded: Array) -> int:
        """Nothing of its own: its table is as large as what is looked at and what is written make it."""
        return 0

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Places:
        rows = [_parts(encoded[row]) for row in range(len(encoded))]
        most = max((len(steps) for steps, _ in rows), default=0)
        size = max((boxes.shape[1] for steps, boxes in rows if len(steps)), default=4)
        steps = torch.full((len(rows), most), -1, dtype=torch.int64)
        boxes = torch.zeros(len(rows), most, size)
        for row, (tokens, places) in enumerate(rows):
            if len(tokens):
                steps[row, : len(tokens)] = torch.as_tensor(tokens, dtype=torch.int64)
                boxes[row, : len(tokens)] = torch.as_tensor(places, dtype=torch.float32)
        return Places(steps, boxes)

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": list(self.of)}


def _parts(encoded: Array) -> tuple[Array, Array]:
    """(places,) the tokens, and (places, 2 or 4) their fractions."""
    size = int(encoded[0])
    table = np.asarray(encoded[1:]).reshape(-1, 1 + size)
    return table[:, 0], table[:, 1:] / FINENESS
