"""Base class of columns of pixels, images or videos: a canvas, and how values are laid on it."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from regard.data.augmentation import Augmentation
from regard.data.columns.column import Column
from regard.data.contents import Contents
from regard.data.image import Box, Color, Fit
from regard.data.ragged import Array
from regard.errors import RegardError
from regard.parts import Settings, Share

PATCH = 8
Pixels = Annotated[int, Field(ge=4, le=4096)]


def respelled(options: Any) -> Any:
    """Options under their current names: older models and specs use `colour` and `grey`."""
    if not isinstance(options, Mapping) or "colour" not in options or "color" in options:
        return options
    chosen = options["colour"]
    kept = {name: value for name, value in options.items() if name != "colour"}
    return {**kept, "color": "gray" if chosen == "grey" else chosen}


class ImageAugmentOptions(Settings):
    """Augmentation of images in training, random in each epoch."""

    flip: bool = False
    """Mirror left to right with probability 1/2."""
    crop: Share = 0.0
    """Largest share of height and width to cut away."""
    color: Share = 0.0
    """Largest change of brightness, contrast and saturation, as a share."""

    @model_validator(mode="before")
    @classmethod
    def _respelled(cls, value: Any) -> Any:
        return respelled(value)


class PixelsColumn(Column):
    """The pixels of the file that a value names, on a canvas of a fixed size.

    size      (H, W) of the canvas; one number for a square
    color     rgb: C = 3; gray: C = 1
    fit       how values of another aspect ratio are laid on the canvas (`on_canvas`)
    augment   arguments of the augmentation in training (`Augmentation`)
    """

    class Options(Column.Options):
        """Pixels on a canvas of a fixed size."""

        size: Pixels | tuple[Pixels, Pixels] = 64
        """Height and width of the canvas in pixels; one number for a square."""
        color: Color = "rgb"
        """Color or grayscale."""
        augment: ImageAugmentOptions | None = None
        """Random variations in training."""

        @model_validator(mode="before")
        @classmethod
        def _respelled(cls, value: Any) -> Any:
            return respelled(value)

        @property
        def sides(self) -> tuple[int, int]:
            """Height and width of the canvas."""
            return (self.size, self.size) if isinstance(self.size, int) else self.size

    names_files = True
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    has_regions = True

    cached = False
    called: ClassVar[str]
    """What messages call a value: image, video."""

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        size: int | Sequence[int] = 64,
        color: Color = "rgb",
        fit: Fit = "crop",
        augment: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, field=field)
        height, width = (size, size) if isinstance(size, int) else size
        self.canvas, self.color, self.fit = (int(height), int(width)), color, fit
        self.augmentation = None if augment is None else Augmentation(**augment)
        self._augment = None if augment is None else dict(augment)
        self._contents = Contents()

    @property
    def channels(self) -> int:
        return 3 if self.color == "rgb" else 1

    @property
    def patches(self) -> int:
        """Number of patches of 8 × 8 pixels on the canvas; each costs about as much as a word."""
        height, width = self.canvas
        return -(-height // PATCH) * -(-width // PATCH)

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def located(self, value: str, file: str) -> str:
        """An absolute path, or the data URI as it is. A path not found is resolved beside the file."""
        return self._contents.find(value.strip(), [os.path.dirname(file), ""])

    def encode(self, value: str) -> Array:
        """(…, H, W, C) uint8"""
        return self._laid(value, None)

    @property
    def varies(self) -> bool:
        return self.augmentation is not None

    def varied(self, value: str, generator: np.random.Generator) -> Array:
        """(…, H, W, C) uint8: randomly cropped, mirrored and recolored by the augmentation."""
        if self.augmentation is None:
            return self.encode(value)
        return self.augmentation.applied(self._laid(value, self.augmentation.box(generator)), generator)

    @abstractmethod
    def _laid(self, value: str, box: Box | None) -> Array:
        """The content of the value on the canvas: all of it, or the part in a box of fractions."""

    def decode(self, ids: Sequence[int]) -> str:
        raise RegardError(f"{self.called}s cannot be outputs.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """One piece: the file name."""
        return [os.path.basename(value) if isinstance(value, str) and len(value) < 1000 else self.called]

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Column:
        options = respelled(state["options"])
        options = {**options, "augment": respelled(options.get("augment"))}
        return super().from_state({**state, "options": options})

    def options(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "size": list(self.canvas),
            "color": self.color,
            "fit": self.fit,
            "augment": self._augment,
        }
