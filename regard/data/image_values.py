"""Images in Python as values of a row: paths stay as they are, everything else becomes a data URI."""

from __future__ import annotations

import io
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from regard.data.contents import data_uri
from regard.data.image import opaque
from regard.data.ragged import Array
from regard.errors import RegardError

SIGNS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"BM": "image/bmp"}
"""The first bytes of common file formats."""
UNKNOWN = "application/octet-stream"
DIRECT = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
"""Pillow modes that PNG preserves."""


def image_value(given: Any, where: str) -> str:
    """The value for a path (str, Path), the bytes of an image file, a Pillow image, or an array.

    Arrays have shape (H, W), (H, W, 1), (H, W, 3) or (H, W, 4) and hold bytes, 16-bit numbers (one channel), booleans,
    or floats from 0 to 1.
    """
    if isinstance(given, str | PathLike):
        return str(fspath(given))
    if isinstance(given, bytes | bytearray | memoryview):
        return data_uri(bytes(given), kind_of(bytes(given)))
    if isinstance(given, Image.Image):
        return _png(ImageOps.exif_transpose(given))
    if hasattr(given, "__array__"):
        return _png(_picture(np.asarray(given), where))
    raise RegardError(
        f"received a {type(given).__name__}, expected a path, bytes, an array (H, W, 3) or a Pillow image.",
        where=where,
    )


def kind_of(content: bytes) -> str:
    """The media type of an image file, from its first bytes."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in SIGNS.items() if content.startswith(sign)), UNKNOWN)


def stored_picture(value: Any) -> str | None:
    """The value of an image stored in a table: bytes, {"bytes": …, "path": …}, or decoded; None for anything else."""
    if isinstance(value, Mapping) and set(value) == {"bytes", "path"}:
        value = value["bytes"] or value["path"]
    if isinstance(value, Image.Image) or (isinstance(value, bytes) and kind_of(value) != UNKNOWN):
        return image_value(value, "row")
    return value if isinstance(value, str) else None


def _png(picture: Image.Image) -> str:
    if picture.mode not in DIRECT:
        picture = opaque(picture)
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return data_uri(file.getvalue(), "image/png")


def _picture(pixels: Array, where: str) -> Image.Image:
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.size == 0 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))):
        raise RegardError(
            f"received an array of shape {pixels.shape}, expected (H, W), (H, W, 1), (H, W, 3) or (H, W, 4).",
            where=where,
            fix="Channels come last: array.transpose(1, 2, 0)." if pixels.shape[:1] in ((1,), (3,)) else "",
        )
    if pixels.dtype == np.uint16 and pixels.ndim == 2:
        return Image.fromarray(pixels)
    return Image.fromarray(_bytes(pixels, where))


def _bytes(pixels: Array, where: str) -> Array:
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype == np.bool_:
        return np.where(pixels, np.uint8(255), np.uint8(0))
    # With NaN in the array, minimum and maximum are NaN, and every comparison fails.
    if np.issubdtype(pixels.dtype, np.floating) and pixels.min() >= 0 and pixels.max() <= 1:
        scaled: Array = np.rint(pixels * 255).astype(np.uint8)
        return scaled
    raise RegardError(
        f"received an array of {pixels.dtype} from {pixels.min()} to {pixels.max()}, expected bytes (uint8), 16-bit "
        "numbers of one channel (uint16), or floats from 0 to 1.",
        where=where,
    )
