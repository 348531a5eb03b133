"""Pointers: a sequence of positions of an input."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from regard.data.batch import Tokens
from regard.data.columns.column import Column
from regard.data.columns.pointed_figures import polygon_fault, triangles_fault
from regard.data.columns.points import FLAT
from regard.data.ragged import Array, Ragged
from regard.parts import Mistakes, Plan, nearest, register

Form = Literal["sequence", "polygon", "tour", "triangles"]
"""The figure that pointers form: any sequence, a convex polygon, a tour of all positions, or a triangulation."""

FAULTS: Mapping[str, Callable[[Sequence[int], Sequence[Sequence[float]]], str | None]] = {
    "polygon": polygon_fault,
    "triangles": triangles_fault,
}
"""For each form, a function that says why positions do not form it."""

_NUMBER = re.compile(r"[1-9]\d{0,8}", re.ASCII)


@register("column", "pointers")
class PointersColumn(Column):
    """Positions of the input `of`, counted from 1: "1 4 2"; for triangles, "1 2 4; 2 3 4".

    form   the figure they form; rows with another figure are refused, and decoders never generate one
    """

    class Options(Column.Options):
        """Positions of an input, counted from 1: `1 4 2`, in JSON lines `[1, 4, 2]`."""

        of: str | None = None
        """The input that they point at; default: the only one."""
        form: Form = "sequence"
        """The figure that every output forms. polygon: convex, counterclockwise; tour: each position once; triangles: a
        triangulation of all points, `1 2 4; 2 3 4`, ascending in each triangle."""

    type = "pointers"
    roles: ClassVar[tuple[str, ...]] = ("outputs",)
    usual: ClassVar[tuple[str, ...]] = ("exact",)
    decoder = "pointer"

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, of=_input(options, plan), field=options.field, form=options.form)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        made = {
            "sequence": "",
            "polygon": " that make a convex polygon, counter-clockwise",
            "tour": ", each of them once",
            "triangles": ", three for each triangle of a triangulation",
        }
        return f"{name}: positions of {options.of or 'the input'}{made[options.form]}"

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        of = _input(options, plan)
        if of not in plan.inputs:
            mistakes.add(f"no input is named {of!r}.", "of", fix=nearest(of, list(plan.inputs)))
        elif options.of is None and len(plan.encoder) > 1:
            mistakes.add(
                f"there are {len(plan.encoder)} inputs, and of does not say which of them is pointed at.",
                "of",
                fix=f"Name one:  of: {of}",
            )
        elif options.form in FLAT and plan.inputs[of].type != "points":
            mistakes.add(
                f"form: {options.form} needs an input of type points, but {of} is of type {plan.inputs[of].type}.",
                "form",
                fix="Choose form: sequence or tour, or an input of type: points.",
            )

    def __init__(self, name: str, *, of: str, field: str | None = None, form: Form = "sequence") -> None:
        super().__init__(name, field=field, of=(of,))
        self.form = form

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        reason = super().check_value(value)
        if reason or value is None:
            return reason
        wrong = next((word for word in value.replace(";", " ").split() if not _NUMBER.fullmatch(word)), None)
        return None if wrong is None else f"has {wrong[:40]!r}, expected positions from 1 such as 1 4 2"

    def check_encoded(self, encoded: Array) -> str | None:
        numbers = encoded.tolist()
        if self.form == "triangles":
            return _triangle_fault(numbers)
        if self.form in ("polygon", "tour"):
            most, times = Counter(numbers).most_common(1)[0]
            if times > 1:
                return f"has position {most} {times} times, but a {self.form} has it at most once"
        if self.form == "polygon" and len(numbers) < 3:
            return f"has {len(numbers)} positions, but a polygon has at least 3"
        return None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        points = beside[self.of[0]]
        if len(encoded) and int(encoded.max()) > len(points):
            return (
                f"has position {int(encoded.max())}, but {self.of[0]} has {len(points)} (1 to {len(points)})"
            )
        if self.form == "tour" and len(encoded) != len(points):
            return f"has {len(encoded)} positions, but a tour of {self.of[0]} has all {len(points)}"
        if self.form in FAULTS:
            return FAULTS[self.form](encoded.tolist(), points.tolist())
        return None

    def written(self, value: Any) -> str:
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            rows = [one if isinstance(one, Sequence | np.ndarray) else [one] for one in value]
            between = "; " if any(len(row) > 1 for row in rows) else " "
            return between.join(" ".join(str(one) for one in row) for row in rows)
        return super().written(value)

    def reference(self, value: str) -> list[int]:
        numbers: list[int] = self.encode(value).tolist()
        return numbers

    def encode(self, value: str) -> Array:
        return np.array([int(word) for word in value.replace(";", " ").split()], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        words = [str(int(number)) for number in ids]
        if self.form != "triangles":
            return " ".join(words)
        return "; ".join(" ".join(words[low : low + 3]) for low in range(0, len(words), 3))

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        numbers = value.replace(";", " ").split() if isinstance(value, str) else value
        return [str(number) for number in numbers]

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Tokens:
        """ids (B, T) positions from 1, lengths (B,)"""
        rows = Ragged.of(encoded)
        return Tokens(torch.from_numpy(rows.padded()), torch.from_numpy(rows.lengths))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "of": self.of[0], "form": self.form}


def _triangle_fault(numbers: Sequence[int]) -> str | None:
    if len(numbers) % 3:
        return f"has {len(numbers)} positions, expected three for each triangle"
    triangles = [tuple(numbers[low : low + 3]) for low in range(0, len(numbers), 3)]
    for one in triangles:
        if not one[0] < one[1] < one[2]:
            return f"has the triangle {' '.join(map(str, one))}, expected rising positions"
    most, times = Counter(triangles).most_common(1)[0]
    return f"has the triangle {' '.join(map(str, most))} {times} times" if times > 1 else None


def _input(options: Any, plan: Plan) -> str:
    return str(options.of or next(iter(plan.encoder), next(iter(plan.inputs))))
