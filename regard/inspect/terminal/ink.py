"""Capabilities of a terminal: color or not, on a dark or a light background."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from regard.inspect.palette import DARK, LIGHT, Color, Over, Shade, Theme
from regard.inspect.writing import right_to_left, shorten

LEFT_TO_RIGHT_MARK = "\u200e"


@dataclass(frozen=True)
class Ink:
    """How to write: with or without color, and in which theme."""

    color: bool
    theme: Theme = DARK

    @classmethod
    def of(cls, console: Console) -> Ink:
        """Color if the console supports it (not in a pipe or under NO_COLOR). The theme comes from COLORFGBG, which
        light terminals set to "0;15" or similar; default: dark."""
        color = console.color_system is not None and not console.no_color
        ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
        return cls(color, LIGHT if ground in ("7", "15") else DARK)

    def on(self, share: float, *, bold: bool = False) -> Style:
        """The style of text on a cell with this shade."""
        if not self.color:
            return Style.null()
        shade = Shade(share)
        return Style(bgcolor=self.theme.hex(shade), color=self.theme.hex(Over(shade)), bold=bold)

    def style(self, color: Color, *, bold: bool = False) -> Style:
        """The style of text on the terminal's own background; plain text keeps the terminal's foreground color."""
        if color in ("ink", "muted") or not self.color:
            return Style(bold=bold, dim=self.color and color == "muted")
        return Style(color=self.theme.hex(color), bold=bold)

    def bar(self, share: float, width: int, color: Color = "accent") -> Text:
        """A bar of at most `width` cells, drawn to half a cell."""
        full, half = divmod(round(2 * width * min(1.0, max(0.0, share))), 2)
        return Text(("━" * full + "╸" * half).ljust(width), style=self.style(color))


def fit(text: str, width: int, align: str = "left") -> str:
    """The text in exactly `width` cells: cut or padded, aligned left, right or center."""
    text = shorten(text, width)
    room = width - cell_len(text)
    # Without the mark, terminals that reorder text would merge neighboring right-to-left labels.
    mark = LEFT_TO_RIGHT_MARK if right_to_left(text) else ""
    before = {"left": 0, "right": room, "center": room // 2}[align]
    return " " * before + text + mark + " " * (room - before)


def in_lines(parts: Sequence[Text], width: int) -> Iterator[Text]:
    """Parts of a legend side by side, on as many lines as needed."""
    line = Text()
    for part in parts:
        if line and line.cell_len + 3 + part.cell_len > width:
            yield line
            line = Text()
        line = part if not line else line.append("   ").append(part)
        line.truncate(width, overflow="ellipsis")
    if parts:
        yield line
