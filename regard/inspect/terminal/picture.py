"""Pictures in a terminal: every character cell shows two pixels, one above the other, as an upper half block."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.style import Style
from rich.text import Text

from regard.errors import MissingExtra
from regard.inspect.scene import Image
from regard.inspect.terminal.ink import Ink

WIDEST = 60
_GREYS = " .:-=+*#%@"


def draw_picture(image: Image, width: int, ink: Ink) -> Iterator[Text]:
    """The picture at the scene's proportions, at most WIDEST cells wide; in ten greys where there is no colour."""
    try:
        from PIL import Image as Pillow
    except ImportError:
        raise MissingExtra("Pillow", "figures", "Drawing a picture in the terminal") from None
    columns = max(1, min(width, WIDEST))
    # A cell is about twice as high as wide and holds two pixels, so that pixels are square.
    rows = max(2, 2 * round(columns * image.height / max(image.width, 1e-9) / 2))
    with Pillow.open(io.BytesIO(image.png)) as opened:
        pixels = np.asarray(opened.convert("RGB").resize((columns, rows)))  # (rows, columns, 3)
    for y in range(0, rows, 2):
        line = Text(no_wrap=True, overflow="crop")
        for x in range(columns):
            upper, lower = pixels[y, x], pixels[y + 1, x]
            if ink.colour:
                line.append("▀", style=Style(color=_hex(upper), bgcolor=_hex(lower)))
            else:
                light = (int(upper.sum()) + int(lower.sum())) / (6 * 256)
                line.append(_GREYS[int(light * len(_GREYS))])
        yield line


def _hex(pixel: NDArray[np.uint8]) -> str:
    red, green, blue = (int(channel) for channel in pixel)
    return f"#{red:02x}{green:02x}{blue:02x}"
