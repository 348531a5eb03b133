"""An image, laid on a canvas of a fixed size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from regard.data.columns.pixels import PixelsColumn
from regard.data.contents import Unreadable, shown
from regard.data.image import Box, Fit, on_canvas, open_picture
from regard.data.image_values import image_value
from regard.data.media import Images
from regard.data.ragged import Array, Ragged
from regard.parts import register
from regard.trace import SeenImage


@register("column", "image")
class ImageColumn(PixelsColumn):
    """An image as its pixels, (H, W, C) uint8; the value is a path or a data URI.

    size      (H, W) of the canvas; one number for a square
    color     rgb: C = 3; gray: C = 1
    fit       how an image of another aspect ratio is laid on the canvas (`on_canvas`)
    augment   arguments of the augmentation in training (`Augmentation`)

    A path may lead into a zip archive: pictures.zip/cats/1.png. Relative paths are resolved beside the file of their
    row, then in the working folder. File formats and conversions: `regard.data.image`.
    """

    class Options(PixelsColumn.Options):
        """An image, as a path or a data URI."""

        fit: Fit = "crop"
        """crop: scale to fill the canvas and cut off the margins; stretch: scale both sides independently; pad: scale
        to fit within the canvas, on a white background; keep: original size at the left, scaled down only if it does
        not fit."""

    type = "image"
    drawn = True
    encoder = "image"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        height, width = options.sides
        return (
            f"{name}: images of {height} × {width} pixels in {'color' if options.color == 'rgb' else 'gray'}"
        )

    called = "image"

    def written(self, value: Any) -> str:
        return image_value(value, self.name)

    def _laid(self, value: str, box: Box | None) -> Array:
        try:
            picture = open_picture(self._contents.read(value), shown(value), at_least=self.canvas)
            return on_canvas(picture, self.canvas, fit=self.fit, color=self.color, box=box)
        except Unreadable as error:
            raise Unreadable(error.reason, where=self.name) from error

    def exported(self) -> dict[str, Any]:
        return {
            "form": "pixels",
            "canvas": list(self.canvas),
            "channels": self.channels,
            "color": self.color,
            "fit": self.fit,
        }

    def readable(self, collated: Any) -> list[list[str]]:
        return [["image"]] * len(collated.pixels)

    def seen(self, collated: Any, row: int) -> SeenImage:
        pixels = collated.pixels[row].permute(1, 2, 0).numpy()  # (H, W, C)
        return SeenImage(np.broadcast_to(pixels, (*self.canvas, 3)))

    def reduced(
        self, encoded: Array, kept: Array, *, words: bool = False, fill: bool = False
    ) -> Array | None:
        """The image, with the cells of the grid that are not kept in its mean color; an image has no gaps."""
        if kept.ndim != 2:
            return None
        height, width = encoded.shape[:2]
        down = np.arange(height) * kept.shape[0] // height
        across = np.arange(width) * kept.shape[1] // width
        mean = np.rint(encoded.mean(axis=(0, 1))).astype(encoded.dtype)
        return np.where(kept[down][:, across, None], encoded, mean)

    def cost(self, encoded: Array) -> int:
        return self.patches

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Images:
        """pixels (B, C, H, W) uint8"""
        pixels = np.stack([encoded[row] for row in range(len(encoded))])
        return Images(torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))))
