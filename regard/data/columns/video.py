"""A video: a sequence of frames, each laid on a canvas of a fixed size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image

from regard.data.arrays import array_uri
from regard.data.columns.pixels import PixelsColumn
from regard.data.contents import Unreadable, data_uri
from regard.data.image import Box, Color, Fit, on_canvas
from regard.data.media import Videos
from regard.data.ragged import Array, Ragged
from regard.data.video import Frame, frames_of
from regard.errors import RegardError
from regard.parts import Count, register
from regard.trace import SeenVideo


@register("column", "video")
class VideoColumn(PixelsColumn):
    """A video as its pixels, (T, H, W, C) uint8; the value is a folder, a file, or a data URI (`regard.data.video`).

    size      (H, W) of the canvas, one number for a square; all frames share it
    color     rgb: C = 3; gray: C = 1
    fit       how a frame of another aspect ratio is laid on the canvas (`on_canvas`)
    frames    maximum number of frames; a longer video is sampled evenly
    augment   arguments of the augmentation in training (`Augmentation`), the same for all frames of a video
    """

    class Options(PixelsColumn.Options):
        """A video: a folder of frames, an array of frames, a video file, or a data URI."""

        fit: Literal["crop", "stretch", "pad"] = "crop"
        """crop: scale to fill the canvas and cut off the margins; stretch: scale both sides independently; pad: scale
        to fit within the canvas, on a white background."""
        frames: Count = 32
        """Maximum number of frames; a longer video is sampled evenly."""

    type = "video"
    drawn = True
    encoder = "video"

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        height, width = options.sides
        color = "color" if options.color == "rgb" else "gray"
        return f"{name}: videos of up to {options.frames} frames of {height} × {width} pixels in {color}"

    called = "video"

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        size: int | Sequence[int] = 64,
        color: Color = "rgb",
        fit: Fit = "crop",
        frames: int = 32,
        augment: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, field=field, size=size, color=color, fit=fit, augment=augment)
        self.frames = frames

    def written(self, value: Any) -> str:
        """A path as it is; the bytes of a video file, an array, or a list of images as a data URI."""
        if isinstance(value, str | PathLike):
            return str(fspath(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return data_uri(bytes(value), "application/octet-stream")
        if isinstance(value, Sequence) and value and isinstance(value[0], Image.Image):
            value = np.stack([on_canvas(frame, self.canvas, fit=self.fit) for frame in value])
        if isinstance(value, Sequence) or hasattr(value, "__array__"):
            return array_uri(np.asarray(value))
        raise RegardError(
            f"received a {type(value).__name__}, expected a path, bytes, an array (T, H, W, 3) or Pillow images.",
            where=self.name,
        )

    def _laid(self, value: str, box: Box | None) -> Array:
        try:
            frames = frames_of(value, self._contents, most=self.frames, at_least=self.canvas)
        except Unreadable as error:
            raise Unreadable(error.reason, where=self.name) from error
        return np.stack([self._on_canvas(frame, box) for frame in frames])

    def _on_canvas(self, frame: Frame, box: Box | None) -> Array:
        """(H, W, C)"""
        if isinstance(frame, np.ndarray):
            if box is None and frame.shape == (*self.canvas, 3) and self.color == "rgb":
                return frame
            frame = Image.fromarray(frame)
        return on_canvas(frame, self.canvas, fit=self.fit, color=self.color, box=box)

    def readable(self, collated: Any) -> list[list[str]]:
        return [[f"frame {place}" for place in range(1, count + 1)] for count in collated.lengths.tolist()]

    def seen(self, collated: Any, row: int) -> SeenVideo:
        frames = collated.frames[row, : int(collated.lengths[row])].permute(0, 2, 3, 1).cpu().numpy()
        return SeenVideo(np.broadcast_to(frames, (*frames.shape[:3], 3)))

    def reduced(
        self, encoded: Array, kept: Array, *, words: bool = False, fill: bool = False
    ) -> Array | None:
        """The video without the frames that are not kept, or with their mean color."""
        if kept.shape != (len(encoded),):
            return None
        if not fill:
            return encoded[kept]
        mean = np.rint(encoded.mean(axis=(0, 1, 2))).astype(encoded.dtype)
        return np.where(kept[:, None, None, None], encoded, mean)

    def cost(self, encoded: Array) -> int:
        """Number of patches in all frames."""
        return len(encoded) * self.patches

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Videos:
        """frames (B, T, C, H, W) uint8, black beyond the length"""
        rows = [encoded[row] for row in range(len(encoded))]
        lengths = [len(row) for row in rows]
        frames = np.zeros((len(rows), max(lengths), *self.canvas, self.channels), dtype=np.uint8)
        for place, row in enumerate(rows):
            frames[place, : len(row)] = row
        moved = np.ascontiguousarray(frames.transpose(0, 1, 4, 2, 3))
        return Videos(torch.from_numpy(moved), torch.tensor(lengths, dtype=torch.int64))

    def options(self) -> dict[str, Any]:
        return {**super().options(), "frames": self.frames}
