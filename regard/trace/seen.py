"""Inputs that are not texts, as figures draw them: images, videos, audio. Plain arrays, to and from JSON."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    content = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode("ascii")
    return {"shape": list(array.shape), "dtype": str(array.dtype), "content": content}


def _unpacked(values: Mapping[str, Any]) -> NDArray[Any]:
    content = zlib.decompress(base64.b64decode(values["content"]))
    return np.frombuffer(content, dtype=np.dtype(values["dtype"])).reshape(values["shape"])


@dataclass(frozen=True, eq=False)
class SeenPicture:
    """An image, its grid of positions, and its true regions.

    pixels   (H, W, 3) uint8
    grid     rows and columns of the positions that can be attended to
    places   (look, left, top, right, bottom): the true region of each look, in fractions of width and height
    """

    kind: ClassVar[str] = "picture"
    pixels: NDArray[np.uint8]
    grid: tuple[int, int] = (1, 1)
    places: tuple[tuple[int, float, float, float, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "pixels": _packed(self.pixels),
            "grid": list(self.grid),
            "places": [list(place) for place in self.places],
        }


@dataclass(frozen=True, eq=False)
class SeenFilm:
    """frames (T, H, W, 3) uint8; each is a position that can be attended to."""

    kind: ClassVar[str] = "film"
    frames: NDArray[np.uint8]

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "frames": _packed(self.frames)}


@dataclass(frozen=True, eq=False)
class SeenSeries:
    """values (T, D): vectors in time, such as log-mel frames of audio; seconds: the duration, 0 if unknown.

    The positions that can be attended to divide the duration evenly. There may be fewer of them than vectors.
    """

    kind: ClassVar[str] = "series"
    values: NDArray[np.float32]
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": _packed(self.values), "seconds": self.seconds}


@dataclass(frozen=True, eq=False)
class SeenPoints:
    """points (S, 2) in the plane; each is a position that can be attended to."""

    kind: ClassVar[str] = "points"
    points: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": _packed(self.points)}


Seen = SeenPicture | SeenFilm | SeenSeries | SeenPoints


def seen_from_dict(values: Mapping[str, Any]) -> Seen:
    """The inverse of `to_dict`, for all kinds."""
    kind = values.get("kind")
    if kind == SeenPicture.kind:
        rows, columns = values["grid"]
        places = tuple((int(look), *map(float, box)) for look, *box in values.get("places", ()))
        return SeenPicture(_unpacked(values["pixels"]), (rows, columns), places)  # type: ignore[arg-type]
    if kind == SeenFilm.kind:
        return SeenFilm(_unpacked(values["frames"]))
    if kind == SeenSeries.kind:
        return SeenSeries(_unpacked(values["values"]), values["seconds"])
    if kind == SeenPoints.kind:
        return SeenPoints(_unpacked(values["points"]))
    raise RegardError(
        f"unknown kind of input {kind!r} in a trace; the known kinds are picture, film, series and points."
    )
