"""Decode an image and lay it on a canvas of a fixed size.

    EXIF orientation      applied
    transparency          laid over white
    16 bits a channel     v · 255 / 65535, rounded: scaled, not clipped
    palette, CMYK, 1 bit  converted to the colors they stand for
    several frames        the first

An image of more than `MOST_PIXELS` is refused by its header, before any pixel is decoded.
"""

from __future__ import annotations

import io
import math
from typing import Literal

import numpy as np
from PIL import Image, ImageOps

from regard.data.contents import Unreadable
from regard.data.ragged import Array

MOST_PIXELS = 100_000_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
"""Raster formats only: others are drawings, or can run programs (EPS)."""
WHITE = 255
ORIENTATION = 0x0112
EXIF = ("exif", "xmp", "XML:com.adobe.xmp", "Raw profile type exif")
"""Pillow's `info` keys that may hold an orientation."""
SHARPER = 2
"""Minimum size of the decoded image relative to the canvas, if a JPEG is decoded at 1/2, 1/4 or 1/8 of its size."""

Fit = Literal["stretch", "pad", "crop", "keep"]
Color = Literal["rgb", "gray"]
Box = tuple[float, float, float, float]


def open_picture(content: bytes, shown: str, *, at_least: tuple[int, int] | None = None) -> Image.Image:
    """The image in mode L or RGB.

    shown      how error messages refer to the image, after the name of its field: "names 'a.png'"
    at_least   required (height, width); a larger JPEG may be decoded at a reduced size
    """
    try:
        picture: Image.Image = Image.open(io.BytesIO(content), formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Unreadable(f"{shown}, an image of more than {MOST_PIXELS:,} pixels") from None
    except Exception:  # decoders raise many kinds of exceptions for a damaged file
        raise Unreadable(
            f"{shown}, which is not an image that can be read: it begins with {content[:8]!r}, expected one of "
            f"{', '.join(FORMATS)}"
        ) from None
    width, height = picture.size
    if width * height > MOST_PIXELS:
        raise Unreadable(
            f"{shown}, an image of {width:,} × {height:,} pixels, more than the {MOST_PIXELS:,} allowed"
        )
    try:
        if at_least is not None and picture.format == "JPEG":
            longer = SHARPER * max(at_least)
            picture.draft(None, (longer, longer))
        picture.load()
        return opaque(upright(picture), shown)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"{shown}, an image that is damaged or cut short ({error})") from None


def upright(picture: Image.Image) -> Image.Image:
    """Rotate the image by its EXIF orientation."""
    if picture.format != "TIFF" and not any(carrier in picture.info for carrier in EXIF):
        return picture  # no key that could hold an orientation
    if picture.getexif().get(ORIENTATION, 1) == 1:
        return picture
    return ImageOps.exif_transpose(picture)


def opaque(picture: Image.Image, shown: str = "is a Pillow image") -> Image.Image:
    """Convert to mode L or RGB: 16 bits scaled to 8, palettes resolved, transparency laid over white."""
    mode = picture.mode
    if mode in ("L", "RGB") and "transparency" not in picture.info:
        return picture
    if mode.startswith("I"):
        return Image.fromarray(_eight_bits(np.asarray(picture), shown))
    if mode == "F":
        raise Unreadable(f"{shown}, an image of floating-point numbers, whose range is not known")
    if picture.has_transparency_data:
        gray = mode in ("L", "LA", "La")
        over = Image.new("RGBA", picture.size, (WHITE,) * 4)
        over.alpha_composite(picture.convert("RGBA"))
        return over.convert("L" if gray else "RGB")
    return picture.convert("L" if mode == "1" else "RGB")


def _eight_bits(values: Array, shown: str) -> Array:
    """(H, W) uint8 from 16-bit numbers, which some formats store in 32 bits."""
    wide = values.astype(np.int64)
    if wide.size and (wide.min() < 0 or wide.max() > 65535):
        raise Unreadable(f"{shown}, an image of 32-bit numbers, whose range is not known")
    return ((wide * 255 + 32767) // 65535).astype(np.uint8)


def on_canvas(
    picture: Image.Image,
    size: tuple[int, int],
    *,
    fit: Fit = "stretch",
    color: Color = "rgb",
    box: Box | None = None,
) -> Array:
    """(H, W, C) uint8, C = 3 or 1.

    size   (H, W) of the canvas
    fit    stretch: scale both sides independently, nothing is lost. pad: keep the aspect ratio, white around the image.
           crop: keep the aspect ratio, fill the canvas, cut off the margins. keep: original size at the left, white
           around the image, scaled down only if it does not fit, so that glyphs of one size stay of one size
    box    the part of the image to use, as fractions (x0, y0, x1, y1); default: all of it
    """
    height, width = size
    mode = "RGB" if color == "rgb" else "L"
    picture = picture if picture.mode == mode else picture.convert(mode)
    left, top, right, bottom = (0.0, 0.0, *picture.size) if box is None else _in_pixels(box, picture)
    if fit == "crop":
        left, top, right, bottom = _covering((left, top, right, bottom), width / height)
    if fit in ("pad", "keep"):
        scale = min(width / (right - left), height / (bottom - top), 1.0 if fit == "keep" else math.inf)
        inner = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
        part = _resized(picture, inner, (left, top, right, bottom))
        pixels = np.full((height, width, len(picture.getbands())), WHITE, dtype=np.uint8)
        y, x = (height - inner[1]) // 2, (width - inner[0]) // 2 if fit == "pad" else 0
        pixels[y : y + inner[1], x : x + inner[0]] = _array(part)
        return pixels
    return _array(_resized(picture, (width, height), (left, top, right, bottom)))


def _in_pixels(box: Box, picture: Image.Image) -> Box:
    width, height = picture.size
    return box[0] * width, box[1] * height, box[2] * width, box[3] * height


def _covering(box: Box, ratio: float) -> Box:
    """The largest centered part of a box with this ratio of width to height."""
    left, top, right, bottom = box
    width, height = min(right - left, (bottom - top) * ratio), min(bottom - top, (right - left) / ratio)
    x, y = (left + right - width) / 2, (top + bottom - height) / 2
    return x, y, x + width, y + height


def _resized(picture: Image.Image, size: tuple[int, int], box: Box) -> Image.Image:
    if picture.size == size and box == (0, 0, *size):
        return picture
    return picture.resize(size, Image.Resampling.BILINEAR, box=box)


def _array(picture: Image.Image) -> Array:
    pixels: Array = np.asarray(picture)
    return pixels if pixels.ndim == 3 else pixels[:, :, None]
