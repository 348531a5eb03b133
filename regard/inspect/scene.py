"""The scene: a figure as a list of marks, independent of the renderer.

Coordinates are those of a screen: x to the right, y downward, the origin at the top left, one unit per CSS pixel.
Marks are painted in order. This module does not know SVG, the terminal or matplotlib, and marks do not know attention:
figures (heatmap, chart, …) are functions that place marks.

A mark can say what it stands for (`at`), which a live figure acts on and a still one does not write.

A terminal has no pixels for marks. A `Group` can therefore carry `content`, the data that its marks show (a matrix, a
chart, shaded words), for renderers in character cells, and for readers who cannot see the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Literal

from regard.inspect.handles import Handle
from regard.inspect.palette import Color

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from regard.inspect.drawings.drawing import Drawing

__all__ = ["Circle", "Group", "Image", "Mark", "Rect", "Scene", "Shape", "Text", "arc", "line", "polyline"]

Anchor = Literal["start", "middle", "end"]
Tags = tuple[tuple[str, str], ...]
"""Names and values attached to a mark (row, column, value): `data-…` attributes in SVG."""


@dataclass(frozen=True)
class Rect:
    """A filled or outlined box; (x, y) is its top left corner."""

    x: float
    y: float
    width: float
    height: float
    fill: Color | None = None
    stroke: Color | None = None
    stroke_width: float = 1.0
    radius: float = 0.0
    opacity: float = 1.0
    tip: str = ""
    tags: Tags = ()
    at: Handle | None = None


@dataclass(frozen=True)
class Text:
    """One line of text. (x, y) is on its baseline, at its start, middle or end in *visual* left-to-right terms, in
    either direction of the script. `rotate` turns it about (x, y), in degrees clockwise. `fills` is a width that it
    must take in any font, by small changes of its spacing; 0: its own."""

    x: float
    y: float
    text: str
    size: float = 13.0
    color: Color = "ink"
    anchor: Anchor = "start"
    rotate: float = 0.0
    bold: bool = False
    italic: bool = False
    mono: bool = False
    opacity: float = 1.0
    tip: str = ""
    tags: Tags = ()
    fills: float = 0.0
    at: Handle | None = None


Step = tuple[Literal["M", "L", "Q", "C", "Z"], tuple[float, ...]]
"""One command of a path, in absolute coordinates: move, line, quadratic and cubic curve, close."""


@dataclass(frozen=True)
class Shape:
    """Lines and curves, open or closed, stroked and filled."""

    steps: tuple[Step, ...]
    stroke: Color | None = "ink"
    width: float = 1.5
    fill: Color | None = None
    opacity: float = 1.0
    dashes: tuple[float, ...] = ()
    tip: str = ""
    tags: Tags = ()
    at: Handle | None = None


@dataclass(frozen=True)
class Circle:
    """A filled or outlined disc with center (x, y)."""

    x: float
    y: float
    radius: float
    fill: Color | None = "ink"
    stroke: Color | None = None
    stroke_width: float = 1.0
    opacity: float = 1.0
    tip: str = ""
    tags: Tags = ()
    at: Handle | None = None


@dataclass(frozen=True)
class Image:
    """A PNG stretched over a box; `smooth` interpolates between its pixels, otherwise they stay sharp squares."""

    x: float
    y: float
    width: float
    height: float
    png: bytes = field(repr=False)
    opacity: float = 1.0
    smooth: bool = True
    tip: str = ""
    tags: Tags = ()
    at: Handle | None = None


@dataclass(frozen=True)
class Group:
    """Marks that belong together, shifted by (dx, dy). `kind` names them ("row", "matrix")."""

    marks: Sequence[Mark]
    dx: float = 0.0
    dy: float = 0.0
    kind: str = ""
    content: Drawing | None = None
    tip: str = ""
    tags: Tags = ()
    at: Handle | None = None


Mark = Rect | Text | Shape | Circle | Image | Group
"""Whatever a scene is made of."""


def line(x1: float, y1: float, x2: float, y2: float, *, color: Color = "faint", width: float = 1.0,
         dashes: tuple[float, ...] = ()) -> Shape:  # fmt: skip
    """A straight line."""
    return Shape((("M", (x1, y1)), ("L", (x2, y2))), stroke=color, width=width, dashes=dashes)


def polyline(
    points: Sequence[tuple[float, float]],
    *,
    color: Color = "ink",
    width: float = 1.5,
    dashes: tuple[float, ...] = (),
) -> Shape:
    """Straight lines from point to point."""
    moves: tuple[Step, ...] = tuple(("L" if i else "M", point) for i, point in enumerate(points))
    return Shape(moves, stroke=color, width=width, dashes=dashes)


def arc(x1: float, x2: float, y: float, height: float, *, color: Color = "ink", width: float = 1.5,
        opacity: float = 1.0, tip: str = "", at: Handle | None = None) -> Shape:  # fmt: skip
    """An arc from (x1, y) to (x2, y), whose top is `height` above them (below, if negative)."""
    top = y - height * 4 / 3  # a cubic curve reaches 3/4 of the height of its control points
    return Shape(
        (("M", (x1, y)), ("C", (x1, top, x2, top, x2, y))),
        stroke=color,
        width=width,
        opacity=opacity,
        tip=tip,
        at=at,
    )


@dataclass(frozen=True)
class Scene:
    """A figure: its size, marks and title, and a description in words for readers who cannot see it."""

    width: float
    height: float
    marks: tuple[Mark, ...]
    title: str = ""
    description: str = ""

    def walk(self) -> Iterator[Mark]:
        """Every mark, groups before their members, in painting order."""
        return _walk(self.marks)

    def contents(self) -> Iterator[Drawing]:
        """The contents of the groups, in painting order."""
        return (mark.content for mark in self.walk() if isinstance(mark, Group) and mark.content is not None)

    def svg(self) -> str:
        """The figure as an SVG document."""
        return _renderers[0].svg(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the figure as .svg, .html, .png or .pdf, by the extension."""
        _renderers[0].save(self, path)

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg()}</div>'

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _renderers[0].terminal(self, console, options)


@dataclass(frozen=True)
class Renderers:
    """How a scene is written: as an SVG document, to a file, in a terminal. They stand above this module, which does
    not know them; `regard.inspect` installs them when it is imported."""

    svg: Callable[[Scene], str]
    save: Callable[[Scene, str | PathLike[str]], object]
    terminal: Callable[[Scene, Console, ConsoleOptions], RenderResult]


_renderers: list[Renderers] = []


def install(renderers: Renderers) -> None:
    _renderers[:] = [renderers]


def _walk(marks: Sequence[Mark]) -> Iterator[Mark]:
    for mark in marks:
        yield mark
        if isinstance(mark, Group):
            yield from _walk(mark.marks)
