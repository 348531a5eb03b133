"""A picture, laid on a canvas of a fixed size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from regard.data.augmentation import Augmentation
from regard.data.columns.column import Column
from regard.data.contents import Contents, Unreadable, shown
from regard.data.drawn import as_value
from regard.data.perceived import Pictures
from regard.data.pictures import Box, Colour, Fit, on_canvas, open_picture
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.seen import SeenPicture

PATCH = 8


class ImageColumn(Column):
    """A picture as its pixels, (H, W, C) uint8; the value is a path, or the bytes as a data URI.

    size      (H, W) of the canvas, one number for a square
    colour    rgb: C = 3; grey: C = 1
    fit       how a picture of another shape comes onto the canvas (`on_canvas`)
    augment   how it is varied in training (`Augmentation`), by name

    A path may lead into a zip archive: pictures.zip/cats/1.png. Relative ones are looked for beside the file of their
    row, then in the working folder. What a file can hold and what becomes of it: `regard.data.pictures`.
    """

    type = "image"
    cached = False

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        size: int | Sequence[int] = 64,
        colour: Colour = "rgb",
        fit: Fit = "crop",
        augment: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, field=field)
        height, width = (size, size) if isinstance(size, int) else size
        self.canvas, self.colour, self.fit = (int(height), int(width)), colour, fit
        self.augmentation = None if augment is None else Augmentation(**augment)
        self._augment = None if augment is None else dict(augment)
        self._contents = Contents()

    @property
    def channels(self) -> int:
        return 3 if self.colour == "rgb" else 1

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def written(self, value: Any) -> str:
        return as_value(value, self.name)

    def located(self, value: str, file: str) -> str:
        """An absolute path, or the data URI as it is; one that is nowhere, as it should be beside the file."""
        return self._contents.find(value.strip(), [os.path.dirname(file), ""])

    def encode(self, value: str) -> Array:
        """(H, W, C) uint8"""
        return self._laid(value, None)

    @property
    def varies(self) -> bool:
        return self.augmentation is not None

    def varied(self, value: str, generator: np.random.Generator) -> Array:
        """(H, W, C) uint8: another part, mirrored, in other colours, as the augmentation says."""
        if self.augmentation is None:
            return self.encode(value)
        return self.augmentation.applied(self._laid(value, self.augmentation.box(generator)), generator)

    def _laid(self, value: str, box: Box | None) -> Array:
        try:
            picture = open_picture(self._contents.read(value), shown(value), at_least=self.canvas)
            return on_canvas(picture, self.canvas, fit=self.fit, colour=self.colour, box=box)
        except Unreadable as error:
            raise Unreadable(error.reason, where=self.name) from error

    def decode(self, ids: Sequence[int]) -> str:
        raise RegardError("pictures are read, not written.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """One piece: its name."""
        return [os.path.basename(value) if isinstance(value, str) and len(value) < 1000 else "picture"]

    def readable(self, collated: Any) -> list[list[str]]:
        return [["picture"]] * len(collated.pixels)

    def seen(self, collated: Any, row: int) -> SeenPicture:
        pixels = collated.pixels[row].permute(1, 2, 0).numpy()  # (H, W, C)
        return SeenPicture(np.broadcast_to(pixels, (*self.canvas, 3)))

    def cost(self, encoded: Array) -> int:
        """In patches of 8 × 8 pixels, which are about as dear as a word each."""
        height, width = self.canvas
        return -(-height // PATCH) * -(-width // PATCH)

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Pictures:
        """pixels (B, C, H, W) uint8"""
        pixels = np.stack([encoded[row] for row in range(len(encoded))])
        return Pictures(torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))))

    def options(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "size": list(self.canvas),
            "colour": self.colour,
            "fit": self.fit,
            "augment": self._augment,
        }
