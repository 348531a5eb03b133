"""Pixels: resize them, write them as PNG, and dim an image by attention.

An image keeps its own colors where a model attends, and is dimmed elsewhere by a veil. A color scale over it would hide
the colors, which are often what the words refer to.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from regard.inspect.palette import DARK, Shade, Theme
from regard.trace import Array

if TYPE_CHECKING:
    from regard.inspect.drawings.image import ImageAttention

Pixels = NDArray[np.uint8]

VEIL = 0.76
"""Opacity of the veil where there is no attention."""
_PAPER_VEIL, _DARK_VEIL, _LIGHT_VEIL = 100, 16, 235
_STEPS = 48
"""Levels of a veil; more are invisible, and fewer compress better."""


def png(pixels: Pixels) -> bytes:
    """(H, W, 3) or (H, W, 4) as a PNG, with a palette if all colors fit."""
    picture = Pillow.fromarray(np.ascontiguousarray(pixels))
    if picture.mode == "RGB" and (colors := picture.getcolors(256)) is not None:
        picture = picture.quantize(len(colors), dither=Pillow.Dither.NONE)
        if not np.array_equal(np.asarray(picture.convert("RGB")), pixels):
            picture = Pillow.fromarray(np.ascontiguousarray(pixels))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def unpacked(data: bytes) -> Pixels:
    """The pixels (H, W, 3) of a PNG, with transparency laid over white."""
    with Pillow.open(io.BytesIO(data)) as opened:
        picture = opened.convert("RGBA")
    ground = Pillow.new("RGBA", picture.size, (255, 255, 255, 255))
    return np.asarray(Pillow.alpha_composite(ground, picture).convert("RGB"))


def resized(pixels: Pixels, width: int, height: int) -> Pixels:
    """(H, W, 3) → (height, width, 3), averaged when reduced, in sharp squares when enlarged."""
    smaller = width < pixels.shape[1] or height < pixels.shape[0]
    how = Pillow.Resampling.BOX if smaller else Pillow.Resampling.NEAREST
    picture = Pillow.fromarray(np.ascontiguousarray(pixels))
    return np.asarray(picture.resize((max(1, width), max(1, height)), how))


def bounded(pixels: Pixels, longest: int) -> Pixels:
    """The image with no side longer than `longest`; smaller images stay as they are."""
    most = max(pixels.shape[:2])
    if most <= longest:
        return pixels
    height, width = (max(1, round(side * longest / most)) for side in pixels.shape[:2])
    picture = Pillow.fromarray(np.ascontiguousarray(pixels))
    return np.asarray(picture.resize((width, height), Pillow.Resampling.LANCZOS))


def spread(shares: Array, width: int, height: int) -> Array:
    """(rows, columns) → (height, width) between 0 and 1, bicubic interpolation between the centers of the cells."""
    surface = Pillow.fromarray(np.asarray(shares, dtype=np.float32))
    how = Pillow.Resampling.BICUBIC if min(surface.size) > 1 else Pillow.Resampling.BILINEAR
    return np.clip(np.asarray(surface.resize((width, height), how), dtype=np.float64), 0.0, 1.0)


def stepped(cells: NDArray[Any], width: int, height: int) -> NDArray[Any]:
    """(rows, columns) → (height, width): every pixel has the value of the cell that contains its center."""
    rows = ((np.arange(height) + 0.5) * cells.shape[0] / height).astype(int)
    columns = ((np.arange(width) + 0.5) * cells.shape[1] / width).astype(int)
    return np.asarray(cells[np.ix_(rows, columns)])


def veil_gray(pixels: Pixels) -> int:
    """The gray of a veil that is visible on this image: dark on most, light on dark images, and in between on paper, so
    that black text stays readable."""
    ground = float(np.median(luminance(pixels))) if pixels.size else 255.0
    return _PAPER_VEIL if ground > 200 else _DARK_VEIL if ground > 80 else _LIGHT_VEIL


def luminance(pixels: Pixels) -> Array:
    """(H, W, 3) → (H, W), 0 to 255: the luminance of each pixel."""
    return np.asarray(pixels @ np.array([0.2126, 0.7152, 0.0722]))


def veil(shares: Array, gray: int, width: int, height: int) -> bytes:
    """The smoothed veil alone, as a PNG with transparency: shares (rows, columns) of full brightness."""
    return _transparent(VEIL * (1 - spread(shares, width, height)), gray)


def cell_veil(shares: Array, gray: int) -> bytes:
    """The veil with one pixel per cell."""
    return _transparent(VEIL * (1 - shares), gray)


def _transparent(covered: Array, gray: int) -> bytes:
    """(H, W) opacities between 0 and 1 as a PNG of one gray."""
    alpha = np.round(np.round(covered * _STEPS) * 255 / _STEPS).astype(np.uint8)
    picture = Pillow.fromarray(np.stack([np.full_like(alpha, gray), alpha], -1), "LA")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def veiled(looks: ImageAttention, word: int, width: int, height: int) -> Pixels:
    """The image at a given size with the veil of one word, for renderers without transparency."""
    shares = looks.laid(looks.share(word))
    lit = spread(shares, width, height) if looks.style == "smooth" else stepped(shares, width, height)
    covered = (VEIL * (1 - lit))[..., None]  # (height, width, 1)
    picture = resized(looks.pixels, width, height)
    return np.round(picture * (1 - covered) + veil_gray(looks.pixels) * covered).astype(np.uint8)


def shaded_pixels(values: Array, theme: Theme = DARK) -> Pixels:
    """(H, W) between 0 and 1 → (H, W, 3) on the sequential scale, dark for 0."""
    levels = [theme.hex(Shade(level / 100)) for level in range(101)]
    table = np.array([[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in levels], dtype=np.uint8)
    return np.asarray(table[np.round(np.clip(values, 0, 1) * 100).astype(int)])
