"""Symbols drawn by matplotlib's mathtext, each only once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import MissingExtra

Ink = NDArray[np.uint8]
"""(height, width), from 0 (no ink) to 255 (full ink)."""
DOTS_PER_INCH = 72
"""A point equals a pixel."""


@dataclass(frozen=True)
class Glyph:
    """The ink of a symbol, and the index of its row at the baseline; rows before it are above."""

    ink: Ink
    baseline: int

    @property
    def above(self) -> int:
        return self.baseline

    @property
    def below(self) -> int:
        return len(self.ink) - self.baseline

    @property
    def width(self) -> int:
        return int(self.ink.shape[1])


class Typeface:
    """The symbols of LaTeX at any size, cached: mathtext takes about ten milliseconds per symbol."""

    def __init__(self, family: str = "dejavusans") -> None:
        try:
            from matplotlib.font_manager import FontProperties
            from matplotlib.mathtext import MathTextParser
        except ImportError as error:
            raise MissingExtra("matplotlib", "figures", "world formulas") from error
        self._parser: Any = MathTextParser("agg")
        self._properties: Any = FontProperties
        self.family = family
        self._known: dict[tuple[str, int], Glyph] = {}

    def glyph(self, token: str, size: int) -> Glyph:
        """A symbol such as x or \\alpha; `size` is the font size in pixels."""
        if (token, size) not in self._known:
            self._known[token, size] = self._drawn(token, size)
        return self._known[token, size]

    def stretched(self, token: str, height: int, width: int) -> Ink:
        """The ink of a symbol, resized."""
        from PIL import Image

        large = self._drawn(token, 4 * height).ink
        return np.asarray(
            Image.fromarray(large).resize((width, height), Image.Resampling.BOX), dtype=np.uint8
        )

    def _drawn(self, token: str, size: int) -> Glyph:
        properties = self._properties(size=size, math_fontfamily=self.family)
        # Drawn after a parenthesis, which is then cut off: for a lone minus, mathtext does not return its height.
        parsed = self._parser.parse(rf"$(\quad {token}$", DOTS_PER_INCH, properties)
        image = np.asarray(parsed.image, dtype=np.uint8)
        columns = np.flatnonzero(image.any(0))
        gap = int(columns[np.flatnonzero(np.diff(columns) > 1)[0]])  # last column of the parenthesis
        image = image[:, gap + 1 :]
        rows, columns = np.flatnonzero(image.any(1)), np.flatnonzero(image.any(0))
        ink = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        baseline = image.shape[0] - round(float(parsed.depth)) - int(rows[0])
        return Glyph(np.ascontiguousarray(ink), baseline)
