"""`console.print(scene)`: the title, then the content of the scene's groups, from top to bottom.

A terminal has no pixels for marks, so the content of a group (`Group.content`) is redrawn in character cells, and
images become half blocks. Other marks are left out: they label or decorate content that has its own labels here.
Without color, weights become digits, so that a log file or a screen reader gets the same figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions
from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.scene import Group, Image, Mark, Scene
from regard.inspect.terminal.image import draw_image
from regard.inspect.terminal.ink import Ink
from regard.reporting.terminal import printable


def render(scene: Scene, console: Console, options: ConsoleOptions) -> Iterator[Text]:
    """The lines of a scene, at most as wide as the console."""
    ink, width = Ink.of(console), options.max_width
    if scene.title:
        yield Text(printable(scene.title), style=ink.style("ink", bold=True), overflow="fold")
        yield Text()
    drawings: list[Drawing] = []
    for number, part in enumerate(_parts(scene.marks)):
        if number:
            yield Text()
        if isinstance(part, Image):
            yield from draw_image(part, width, ink)
        else:
            drawings.append(part)
            yield from part.terminal(width, ink)
    for kind in sorted({type(one): None for one in drawings}, key=lambda kind: kind.rank):
        legend = list(kind.terminal_legend([one for one in drawings if type(one) is kind], width, ink))
        if legend:
            yield Text()
            yield from legend


def _parts(marks: Sequence[Mark]) -> Iterator[Drawing | Image]:
    """The contents and images that a terminal can draw, in painting order; groups with content are not searched."""
    for mark in marks:
        if isinstance(mark, Image):
            yield mark
        elif isinstance(mark, Group):
            if mark.content is not None:
                yield mark.content
            else:
                yield from _parts(mark.marks)
