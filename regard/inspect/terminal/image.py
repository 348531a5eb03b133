"""Images in a terminal: every character cell shows two pixels, one above the other, as an upper half block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from rich.style import Style
from rich.text import Text

from regard.inspect.raster import Pixels, luminance, resized, unpacked
from regard.inspect.scene import Image
from regard.inspect.terminal.ink import Ink

WIDEST = 60
_GRAYS = " .:-=+*#%@"


def draw_image(image: Image, width: int, ink: Ink) -> Iterator[Text]:
    """The image in the scene's proportions, at most WIDEST cells wide; in ten characters without color."""
    columns = max(1, min(width, WIDEST))
    rows = lines_for(columns, image.width / max(image.height, 1e-9))
    yield from half_blocks(resized(unpacked(image.png), columns, 2 * rows), ink)


def lines_for(columns: int, aspect: float) -> int:
    """Number of lines of an image that is `columns` wide: a cell is about twice as high as wide, so pixels are
    square."""
    return max(1, round(columns / aspect / 2))


def half_blocks(pixels: Pixels, ink: Ink) -> Iterator[Text]:
    """(2 R, C, 3) as R lines of C cells."""
    if not ink.color:
        yield from _signs(pixels)
        return
    for y in range(0, len(pixels) - 1, 2):
        line = Text(no_wrap=True, overflow="crop")
        for upper, lower in zip(pixels[y], pixels[y + 1], strict=True):
            line.append("▀", style=Style(color=_hex(upper), bgcolor=_hex(lower)))
        yield line


def _signs(pixels: Pixels) -> Iterator[Text]:
    """Characters that are denser the more a pixel differs from the background of the image, which stays blank."""
    light = luminance(pixels)
    light = (light[::2] + light[1::2]) / 2  # (R, C): two pixels per cell
    far = np.abs(light - np.median(light))
    share = far / max(float(far.max(initial=0.0)), 1.0)
    for line in np.minimum(share * len(_GRAYS), len(_GRAYS) - 1).astype(int):
        yield Text("".join(_GRAYS[level] for level in line), no_wrap=True, overflow="crop")


def _hex(pixel: NDArray[np.uint8]) -> str:
    red, green, blue = (int(channel) for channel in pixel)
    return f"#{red:02x}{green:02x}{blue:02x}"


def boxed(lines: Iterable[Text]) -> Iterator[Text]:
    """Lines of equal width in a frame: without color, the background of an image is blank and has no edge."""
    shown = list(lines)
    wide = shown[0].cell_len if shown else 0
    yield Text(f"┌{'─' * wide}┐", no_wrap=True, overflow="crop")
    for line in shown:
        yield Text("│", no_wrap=True, overflow="crop").append_text(line).append("│")
    yield Text(f"└{'─' * wide}┘", no_wrap=True, overflow="crop")


def side_by_side(panels: list[list[Text]], gap: int = 2) -> Iterator[Text]:
    """Panels of equally many lines, side by side."""
    for lines in zip(*panels, strict=True):
        joined = Text(no_wrap=True, overflow="crop")
        for place, line in enumerate(lines):
            joined.append(" " * (gap if place else 0)).append_text(line)
        yield joined
