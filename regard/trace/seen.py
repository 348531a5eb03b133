"""Inputs that are not texts, as figures draw them: images, videos, audio. Plain arrays, to and from JSON."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.trace.traced import Traced

LARGEST = 1 << 28
"""Maximum number of bytes of an array; a packed one may be small and unpack to any size."""


def packed(array: NDArray[Any]) -> dict[str, Any]:
    """An array as plain values for JSON, compressed."""
    content = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode("ascii")
    return {"shape": list(array.shape), "dtype": str(array.dtype), "content": content}


def unpacked(values: Mapping[str, Any]) -> NDArray[Any]:
    """The inverse of `packed`."""
    dtype = np.dtype(values["dtype"])
    shape = [int(size) for size in values["shape"]]
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size > LARGEST or dtype.kind not in "iuf":
        raise RegardError(f"an array of {shape} {dtype} is too large, or not of numbers.")
    content = zlib.decompressobj().decompress(base64.b64decode(values["content"]), size + 1)
    if len(content) != size:
        raise RegardError(f"an array of {shape} {dtype} has another number of bytes than {size}.")
    return np.frombuffer(content, dtype=dtype).reshape(shape)


@dataclass(frozen=True, eq=False)
class Seen(Traced):
    """An input that is not a text. The names of its fields are the keys of the JSON; arrays are packed."""

    def with_grid(self, grid: tuple[int, int], places: tuple[Place, ...]) -> Seen:
        """This input with the grid of its positions and its true regions; only an image has them."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for JSON."""
        values: dict[str, Any] = {"kind": self.kind}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, np.ndarray):
                value = packed(value)
            elif isinstance(value, tuple):
                value = [list(item) if isinstance(item, tuple) else item for item in value]
            values[one.name] = value
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        found = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        return cls(
            **{name: unpacked(one) if isinstance(one, Mapping) else one for name, one in found.items()}
        )


Place = tuple[int, float, float, float, float]
"""The true region of a look: its number, left, top, right and bottom, in fractions of width and height."""


@dataclass(frozen=True, eq=False)
class SeenImage(Seen):
    """An image, its grid of positions, and its true regions.

    pixels   (H, W, 3) uint8
    grid     rows and columns of the positions that can be attended to
    places   the true region of each look
    """

    kind: ClassVar[str] = "picture"
    pixels: NDArray[np.uint8]
    grid: tuple[int, int] = (1, 1)
    places: tuple[Place, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: fields are set only here
        put(self, "grid", tuple(self.grid))
        put(self, "places", tuple((int(look), *map(float, box)) for look, *box in self.places))

    def with_grid(self, grid: tuple[int, int], places: tuple[Place, ...]) -> SeenImage:
        return SeenImage(self.pixels, grid, places)


@dataclass(frozen=True, eq=False)
class SeenVideo(Seen):
    """frames (T, H, W, 3) uint8; each is a position that can be attended to."""

    kind: ClassVar[str] = "film"
    frames: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class SeenSeries(Seen):
    """values (T, D): vectors in time, such as log-mel frames of audio; seconds: the duration, 0 if unknown.

    The positions that can be attended to divide the duration evenly. There may be fewer of them than vectors.
    """

    kind: ClassVar[str] = "series"
    values: NDArray[np.float32]
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class SeenTable(Seen):
    """A table: `names` are the fields of its S cells, whose values are the pieces of the input."""

    kind: ClassVar[str] = "table"
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(map(str, self.names)))


@dataclass(frozen=True, eq=False)
class SeenGraph(Seen):
    """A graph whose S nodes are the pieces of the input: `edges` from node to node, from 0, each with its relation."""

    kind: ClassVar[str] = "graph"
    edges: tuple[tuple[int, int, str], ...]

    def __post_init__(self) -> None:
        made = tuple((int(source), int(target), str(relation)) for source, target, relation in self.edges)
        object.__setattr__(self, "edges", made)

    def check_against(self, name: str, outputs: int, positions: int) -> None:
        for source, target, _ in self.edges:
            if not (0 <= source < positions and 0 <= target < positions):
                raise RegardError(
                    f"{name}: an edge from {source} to {target}, but that input has {positions} nodes."
                )


@dataclass(frozen=True, eq=False)
class SeenPoints(Seen):
    """points (S, 2) in the plane; each is a position that can be attended to."""

    kind: ClassVar[str] = "points"
    points: NDArray[np.float64]
