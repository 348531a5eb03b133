"""True regions: where an image, video or audio shows the content of an output token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.columns.column import Column
from regard.data.media import Places
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import LISTED
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, nearest, part, register

_NUMBER = r"(?:0|1|0?\.\d+|1\.0*|0\.)"
_PLACE = re.compile(rf"(\d{{1,9}}):({_NUMBER}(?:,{_NUMBER}){{1}}(?:,{_NUMBER},{_NUMBER})?)", re.ASCII)
FINENESS = 1_000_000
"""Fractions are stored as integers in units of 1 / FINENESS."""


@register("column", "places")
class PlacesColumn(Column):
    """Regions in the form "1:0.10,0.20,0.35,0.45": the token, counted from 0, and its box.

    A label has no tokens: there the number is that of a glimpse, and 0 also applies to every glimpse without a region.

    The box is left, top, right and bottom as fractions of width and height. In time it is "1:0.10,0.25", begin and end
    as fractions of the duration.

    A token may have several regions, and most have none. The encoding is flat: the number of fractions per region (2 or
    4), then the token and the fractions of each region.
    """

    class Options(Column.Options):
        """The region of an image, video or audio that an output token describes: `1:0.1,0.2,0.35,0.45`."""

        of: tuple[str, str] | None = None
        """The input and the output; default: the only image, video, audio or series, and the only output."""

    type = "places"
    roles: ClassVar[tuple[str, ...]] = ("truth",)
    usual: ClassVar[tuple[str, ...]] = ("pointing",)

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        return cls(name, of=cls.between(options, plan) or (), field=options.field)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: the regions of the input that the output describes"

    @classmethod
    def between(cls, options: Any, plan: Plan) -> tuple[str, str] | None:
        return options.of or (next(iter(_with_regions(plan)), ""), next(iter(plan.outputs)))

    @classmethod
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        inputs = _with_regions(plan)
        if options.of is None and (len(inputs) != 1 or len(plan.outputs) != 1):
            mistakes.add(
                f"of must name one input and one output: there are {len(inputs)} inputs of type image, video, "
                f"audio or series and {len(plan.outputs)} outputs.",
                "of",
                fix="Write  of: [INPUT, OUTPUT].",
            )
            return
        source, target = cls.between(options, plan) or ("", "")
        for kind, one, known in (
            ("image, video, audio or series", source, inputs),
            ("output", target, [*plan.outputs]),
        ):
            if one not in known:
                mistakes.add(f"no {kind} is named {one!r}.", "of", fix=nearest(one, known))
                return
        _check_canvas(source, target, plan, mistakes)

    def __init__(self, name: str, *, of: Sequence[str], field: str | None = None) -> None:
        super().__init__(name, field=field, of=of)
        if len(self.of) != 2:
            raise RegardError(
                f"of names {len(self.of)} columns, expected two: the input with the regions and the output.",
                where=name,
            )

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def check_value(self, value: str | None) -> str | None:
        if value is None or LISTED in value:
            return super().check_value(value)
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
        return "mixes boxes and time spans" if len(sizes) > 1 else None

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
        """0: its size follows from those of the input and the output."""
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
    """(regions,) the tokens, and (regions, 2 or 4) the fractions."""
    size = int(encoded[0])
    table = np.asarray(encoded[1:]).reshape(-1, 1 + size)
    return table[:, 0], table[:, 1:] / FINENESS


def _with_regions(plan: Plan) -> list[str]:
    """The inputs that can contain regions."""
    return [name for name, column in plan.inputs.items() if part("column", column.type).has_regions]


def _check_canvas(source: str, target: str, plan: Plan, mistakes: Mistakes) -> None:
    """Check that the canvas and the augmentation of the input leave regions where they are."""
    column, decoder = plan.inputs[source], plan.decoder.get(target)
    if getattr(column, "fit", None) in ("pad", "keep"):
        mistakes.add(
            f"regions are fractions of the image, but fit: {column.fit} of {source} moves the image on its canvas.",
            fix="Choose  fit: stretch.",
        )
    augment = getattr(column, "augment", None)
    looks = () if decoder is None else decoder.part.attentions(decoder)
    learned = any(one.guide or "truth" in one.select.part.needs for one in looks)
    if (
        learned
        and (getattr(augment, "flip", False) or getattr(augment, "crop", 0.0))
        and column.type != "series"
    ):
        mistakes.add(
            f"attention is learned from the true regions, but flip and crop of {source} move the image in training.",
            fix="Leave out flip and crop, or guide and oracle.",
        )
