"""Augmentation: random variations of images during training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.data.ragged import Array

RED, GREEN, BLUE = 0.299, 0.587, 0.114
"""Luminance weights of red, green and blue (ITU-R 601), as in Pillow."""


@dataclass(frozen=True)
class Augmentation:
    """Random flips, crops and color changes, drawn anew for each image.

    flip     mirror left to right with probability 1/2
    crop     largest share of height and width to cut away; the rest is taken from a random position
    color    brightness, contrast and saturation are each multiplied by a factor from 1 − color to 1 + color
    """

    flip: bool = False
    crop: float = 0.0
    color: float = 0.0

    def box(self, generator: np.random.Generator) -> tuple[float, float, float, float]:
        """A random crop with the aspect ratio of the image, as fractions (x0, y0, x1, y1)."""
        side = 1.0 - float(generator.uniform(0.0, self.crop))
        x, y = (float(place) for place in generator.uniform(0.0, 1.0 - side, 2))
        return x, y, x + side, y + side

    def applied(self, pixels: Array, generator: np.random.Generator) -> Array:
        """(…, H, W, C) uint8, mirrored and recolored in the same way along all leading dimensions (frames)."""
        if self.flip and generator.random() < 0.5:
            pixels = pixels[..., ::-1, :]
        if self.color:
            brightness, contrast, saturation = generator.uniform(1.0 - self.color, 1.0 + self.color, 3)
            pixels = recolored(pixels, float(brightness), float(contrast), float(saturation))
        return pixels


def recolored(pixels: Array, brightness: float, contrast: float, saturation: float) -> Array:
    """Change brightness (b), then saturation (s) around each pixel's gray g(x), then contrast (c) around the mean gray.

    y = c·b·(s·x + (1 − s)·g(x)) + (1 − c)·b·mean g
    """
    values = pixels.astype(np.float32)  # (…, H, W, C)
    gray = values[..., 0]
    if values.shape[-1] == 3:
        # Channel by channel: a product over three channels takes five times as long.
        gray = RED * values[..., 0] + GREEN * values[..., 1] + BLUE * values[..., 2]
    added = contrast * brightness * (1.0 - saturation) * gray + (1.0 - contrast) * brightness * gray.mean()
    values *= contrast * brightness * saturation
    values += added[..., None] + 0.5  # + 0.5: the cast to uint8 truncates
    return np.clip(values, 0, 255, out=values).astype(np.uint8)
