"""A small set of panels that comes with this distribution: a picture, a phrase and a signal in each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

import regard
from regard.data import image_value, numbered

LAMPS = ("left", "right")
COLORS = ("red", "green", "blue")


@regard.register("package", "panels")
class PanelsPackage(regard.data.Package):
    """One lamp of a panel is on: its side is in the picture, its color in the phrase."""

    fields: ClassVar[tuple[str, ...]] = ("picture", "phrase", "signal", "state", "echo", "level")

    def splits(self) -> regard.worlds.Splits:
        rows = list(_rows())
        parts = {"train": rows[12:], "dev": rows[:6], "test": rows[6:12]}
        return {split: numbered(self.type, split, some) for split, some in parts.items()}


def _rows() -> Iterator[dict[str, str]]:
    generator = np.random.default_rng(0)
    for number in range(60):
        side, color = int(generator.integers(2)), str(generator.choice(COLORS))
        pixels = np.zeros((16, 16), np.uint8)
        pixels[4:12, 8 * side + 2 : 8 * side + 6] = 255
        bits = [f"{one:03b}" for one in generator.integers(8, size=1 + number % 2)]
        yield {
            "picture": image_value(pixels, "picture"),
            "phrase": f"(the ({color} lamp))",
            "signal": " ".join([*bits, "_"]),
            "state": f"{LAMPS[side]} {color}",
            "echo": bits[0],
            "level": str(len(bits)),
        }
