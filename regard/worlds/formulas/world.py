"""The formulas world: images of formulas, their LaTeX, and the region of each token."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.image_values import image_value
from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.formulas.boxes import Box, origin, painted
from regard.worlds.formulas.expressions import Writer
from regard.worlds.formulas.typeface import Typeface
from regard.worlds.world import SplitWorld


@register("world", "formulas")
class FormulasWorld(SplitWorld):
    """Grayscale images of formulas: fractions, sub- and superscripts, roots, Greek letters, sums and brackets.

    Symbols are drawn by matplotlib's mathtext, each once, and laid out here. This takes a quarter of a millisecond per
    formula, where mathtext takes tens of milliseconds, and yields the box of each token.
    """

    train: RowCount = 10_000
    """Number of rows; all formulas are distinct, also across splits."""
    dev: RowCount = 300
    """Rows of the split `dev`."""
    height: int = 32
    """Height of the image, in pixels; formulas that do not fit are discarded."""
    width: int = 128
    """Width of the image, in pixels."""
    most: int = 24
    """Maximum number of tokens of a formula."""

    fields: ClassVar[tuple[str, ...]] = ("image", "formula", "places")

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        for option, least in (("height", 32), ("width", 64), ("most", 10)):
            if getattr(self, option) < least:
                raise RegardError(f"{option} is {getattr(self, option)}, expected {least} or more.")
        return self

    def splits(self) -> Splits:
        typeface, seen = Typeface(), set[str]()
        return self.tests_first(
            lambda split, size: self._rows(Random(f"{self.seed} {split}"), typeface, size, seen)
        )

    def _rows(
        self, random: Random, typeface: Typeface, size: int, seen: set[str]
    ) -> Iterator[dict[str, str]]:
        while size > 0:
            writer = Writer(typeface, random)
            box = writer.formula()
            formula = " ".join(writer.tokens)
            fits = (
                box.width <= self.width - 4 and box.height <= self.height and len(writer.tokens) <= self.most
            )
            if fits and formula not in seen:
                seen.add(formula)
                size -= 1
                picture = painted(box, self.height, self.width)
                yield {
                    "image": image_value(picture, self.type),
                    "formula": formula,
                    "places": self._places(box),
                }

    def _places(self, box: Box) -> str:
        """token:x0,y0,x1,y1 of every visible token; braces and the signs of scripts are not visible."""
        left, baseline = origin(box, self.height)
        found = {}
        for mark in box.marks:
            x, y, (high, wide) = left + mark.x, baseline + mark.y, mark.ink.shape
            corners = (x / self.width, y / self.height, (x + wide) / self.width, (y + high) / self.height)
            found[mark.token] = ",".join(f"{corner:.4f}" for corner in corners)
        return " ".join(f"{token}:{found[token]}" for token in sorted(found))
