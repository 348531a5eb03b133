"""Augmentation: pictures varied a little each time they are shown, so that a network learns what does not matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.data.ragged import Array

RED, GREEN, BLUE = 0.299, 0.587, 0.114
"""Luminance of red, green and blue (ITU-R 601), as Pillow takes it."""


@dataclass(frozen=True)
class Augmentation:
    """What is drawn anew each time.

    flip     every other picture is mirrored left to right
    crop     the largest share of height and width that is cut away; what is left lies at a random place
    color   brightness, contrast and saturation are each multiplied by a number between 1 − color and 1 + color
    """

    flip: bool = False
    crop: float = 0.0
    color: float = 0.0

    def box(self, generator: np.random.Generator) -> tuple[float, float, float, float]:
        """The part that is shown, as fractions (x0, y0, x1, y1), of the shape of the whole."""
        side = 1.0 - float(generator.uniform(0.0, self.crop))
        x, y = (float(place) for place in generator.uniform(0.0, 1.0 - side, 2))
        return x, y, x + side, y + side

    def applied(self, pixels: Array, generator: np.random.Generator) -> Array:
        """(…, H, W, C) uint8, mirrored and recolored; one drawing for all leading dimensions (frames)."""
        if self.flip and generator.random() < 0.5:
            pixels = pixels[..., ::-1, :]
        if self.color:
            brightness, contrast, saturation = generator.uniform(1.0 - self.color, 1.0 + self.color, 3)
            pixels = recolored(pixels, float(brightness), float(contrast), float(saturation))
        return pixels


def recolored(pixels: Array, brightness: float, contrast: float, saturation: float) -> Array:
    """x ↦ b·x, then away from or towards each pixel's own gray by s, then the mean gray by c: one affine map.

    y = c·b·(s·x + (1 − s)·g(x)) + (1 − c)·b·mean g
    """
    values = pixels.astype(np.float32)  # (…, H, W, C)
    gray = values[..., 0]
    if values.shape[-1] == 3:
        # plane by plane: a product over three channels costs five times as much
        gray = RED * values[..., 0] + GREEN * values[..., 1] + BLUE * values[..., 2]
    added = contrast * brightness * (1.0 - saturation) * gray + (1.0 - contrast) * brightness * gray.mean()
    values *= contrast * brightness * saturation
    values += added[..., None] + 0.5  # rounded by cutting off
    return np.clip(values, 0, 255, out=values).astype(np.uint8)
