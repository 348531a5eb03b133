"""A film: frames in time, each laid on a canvas of a fixed size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
import torch
from PIL import Image

from regard.data.arrays import array_uri
from regard.data.augmentation import Augmentation
from regard.data.columns.column import Column
from regard.data.contents import Contents, Unreadable, data_uri
from regard.data.films import Frame, frames_of
from regard.data.perceived import Films
from regard.data.pictures import Box, Colour, Fit, on_canvas
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.seen import SeenFilm

PATCH = 8


class VideoColumn(Column):
    """A film as its pixels, (T, H, W, C) uint8; the value is a folder, a file, or a data URI (`regard.data.films`).

    size      (H, W) of the canvas, one number for a square; frames of different sizes come onto the same one
    colour    rgb: C = 3; grey: C = 1
    fit       how a frame of another shape comes onto the canvas (`on_canvas`)
    frames    the most that are taken, evenly, of a film that has more
    augment   how it is varied in training (`Augmentation`), all its frames in the same way
    """

    type = "video"
    cached = False

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        size: int | Sequence[int] = 64,
        colour: Colour = "rgb",
        fit: Fit = "crop",
        frames: int = 32,
        augment: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, field=field)
        height, width = (size, size) if isinstance(size, int) else size
        self.canvas, self.colour, self.fit = (int(height), int(width)), colour, fit
        self.frames = frames
        self.augmentation = None if augment is None else Augmentation(**augment)
        self._augment = None if augment is None else dict(augment)
        self._contents = Contents()

    @property
    def channels(self) -> int:
        return 3 if self.colour == "rgb" else 1

    def learn(self, values: Iterable[str]) -> None:
        """Nothing to learn."""

    def written(self, value: Any) -> str:
        """A path as it is; bytes of a film file, an array or pictures, one a frame, as a data URI."""
        if isinstance(value, str | PathLike):
            return str(fspath(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return data_uri(bytes(value), "application/octet-stream")
        if isinstance(value, Sequence) and value and isinstance(value[0], Image.Image):
            value = np.stack([on_canvas(frame, self.canvas, fit=self.fit) for frame in value])
        if isinstance(value, Sequence) or hasattr(value, "__array__"):
            return array_uri(np.asarray(value))
        raise RegardError(
            f"received a {type(value).__name__}, expected a path, bytes, an array (T, H, W, 3) or pictures.",
            where=self.name,
        )

    def located(self, value: str, file: str) -> str:
        """An absolute path, or the data URI as it is; one that is nowhere, as it is."""
        return self._contents.find(value.strip(), [os.path.dirname(file), ""])

    def encode(self, value: str) -> Array:
        """(T, H, W, C) uint8"""
        return self._laid(value, None)

    @property
    def varies(self) -> bool:
        return self.augmentation is not None

    def varied(self, value: str, generator: np.random.Generator) -> Array:
        """(T, H, W, C) uint8: another part, mirrored, in other colours, as the augmentation says."""
        if self.augmentation is None:
            return self.encode(value)
        return self.augmentation.applied(self._laid(value, self.augmentation.box(generator)), generator)

    def _laid(self, value: str, box: Box | None) -> Array:
        try:
            frames = frames_of(value, self._contents, most=self.frames, at_least=self.canvas)
        except Unreadable as error:
            raise Unreadable(error.reason, where=self.name) from error
        return np.stack([self._on_canvas(frame, box) for frame in frames])

    def _on_canvas(self, frame: Frame, box: Box | None) -> Array:
        """(H, W, C)"""
        if isinstance(frame, np.ndarray):
            if box is None and frame.shape == (*self.canvas, 3) and self.colour == "rgb":
                return frame
            frame = Image.fromarray(frame)
        return on_canvas(frame, self.canvas, fit=self.fit, colour=self.colour, box=box)

    def decode(self, ids: Sequence[int]) -> str:
        raise RegardError("films are read, not written.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """One piece: its name."""
        return [os.path.basename(value) if isinstance(value, str) and len(value) < 1000 else "film"]

    def readable(self, collated: Any) -> list[list[str]]:
        return [[f"frame {place}" for place in range(1, count + 1)] for count in collated.lengths.tolist()]

    def seen(self, collated: Any, row: int) -> SeenFilm:
        frames = collated.frames[row, : int(collated.lengths[row])].permute(0, 2, 3, 1).cpu().numpy()
        return SeenFilm(np.broadcast_to(frames, (*frames.shape[:3], 3)))

    def cost(self, encoded: Array) -> int:
        """Frames times patches of 8 × 8 pixels, which are about as dear as a word each."""
        height, width = self.canvas
        return len(encoded) * -(-height // PATCH) * -(-width // PATCH)

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Films:
        """frames (B, T, C, H, W) uint8, black beyond the length"""
        rows = [encoded[row] for row in range(len(encoded))]
        lengths = [len(row) for row in rows]
        frames = np.zeros((len(rows), max(lengths), *self.canvas, self.channels), dtype=np.uint8)
        for place, row in enumerate(rows):
            frames[place, : len(row)] = row
        moved = np.ascontiguousarray(frames.transpose(0, 1, 4, 2, 3))
        return Films(torch.from_numpy(moved), torch.tensor(lengths, dtype=torch.int64))

    def options(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "size": list(self.canvas),
            "colour": self.colour,
            "fit": self.fit,
            "frames": self.frames,
            "augment": self._augment,
        }
