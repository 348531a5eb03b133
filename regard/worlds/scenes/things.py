"""The things of a scene: colored shapes of three sizes with their positions."""

from __future__ import annotations

from dataclasses import dataclass

SHAPES = ("circle", "square", "triangle", "star", "ring", "cross")
COLORS = {
    "red": (214, 39, 40),
    "green": (44, 150, 60),
    "blue": (40, 85, 210),
    "yellow": (238, 205, 30),
    "orange": (245, 130, 25),
    "purple": (130, 60, 165),
    "pink": (245, 150, 195),
    "cyan": (50, 195, 215),
}
SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Thing:
    """left, top and side of the bounding box, in pixels."""

    shape: str
    color: str
    size: str
    left: int
    top: int
    side: int

    @property
    def x(self) -> float:
        return self.left + self.side / 2

    @property
    def y(self) -> float:
        return self.top + self.side / 2

    def place(self, pixels: int) -> str:
        """x0,y0,x1,y1 as fractions of an image of `pixels` × `pixels`."""
        box = (self.left, self.top, self.left + self.side, self.top + self.side)
        return ",".join(f"{edge / pixels:.4f}" for edge in box)


Scene = tuple[Thing, ...]
"""From left to right."""
