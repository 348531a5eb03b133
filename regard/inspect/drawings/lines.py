"""Lines of text between other drawings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.terminal.ink import Ink
from regard.parts import register
from regard.reporting.terminal import printable


@register("drawing", "lines")
@dataclass(frozen=True)
class Lines(Drawing):
    """Text between drawings: each line with the role of its color; the first `bold` lines are bold."""

    lines: tuple[tuple[str, str], ...]
    bold: int = 1

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        """The lines, wrapped if they are too long."""
        for number, (text, color) in enumerate(self.lines):
            style = ink.style(color, bold=number < self.bold)
            yield Text(printable(text), style=style, overflow="fold")
