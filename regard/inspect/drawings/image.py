"""Attention to an image: the image first, then once more for every word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray
from rich.text import Text

from regard.errors import RegardError
from regard.inspect.drawings.drawing import PLAIN, Style, View
from regard.inspect.drawings.image_svg import draw_image, image_legend, image_tip
from regard.inspect.drawings.image_terminal import image_lines, image_notes
from regard.inspect.drawings.input_attention import InputAttention
from regard.inspect.layout import Block, below, frame
from regard.inspect.raster import Pixels
from regard.inspect.section import Card, PageSection
from regard.parts import register
from regard.trace import SeenImage, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, as fractions of width and height."""


@register("drawing", "image")
@dataclass(frozen=True, eq=False, kw_only=True)
class ImageAttention(InputAttention):
    """An image and the attention of each word; S = rows × columns of the grid.

    boxes   for each word, left, top, right, bottom of its true regions, as fractions; empty: unknown
    """

    rank: ClassVar[int] = 90
    traced = SeenImage
    gridded: ClassVar[bool] = True

    pixels: Pixels  # (H, W, 3)
    grid: tuple[int, int]
    boxes: tuple[tuple[Box, ...], ...] = ()
    style: Style = "smooth"

    @property
    def aspect(self) -> float:
        """Width over height."""
        return float(self.pixels.shape[1] / self.pixels.shape[0])

    def laid(self, positions: NDArray[Any]) -> NDArray[Any]:
        """(S,) → (rows, columns)."""
        return positions.reshape(self.grid)

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> ImageAttention:
        what: Any = trace.seen[name]
        attention = cls.weighted(trace, name, view)
        _check_grid(what, attention)
        boxes = _boxes(trace, what, attention)
        return cls(pixels=what.pixels, grid=what.grid, boxes=boxes, style=view.style, **attention)

    def block(self) -> Block:
        return draw_image(self)

    @classmethod
    def legend(cls, shown: Sequence[ImageAttention]) -> list[Block]:
        attended = [attention for attention in shown if attention.words]
        return [image_legend(attended)] if attended else []

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return image_lines(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[ImageAttention], width: int, ink: Ink) -> Iterator[Text]:
        return image_notes(shown, width, ink)

    def description(self) -> str:
        """The most attended position of each word, in words."""
        if not self.words:
            return f"An image of {self.pixels.shape[1]} by {self.pixels.shape[0]} pixels."
        return " · ".join(image_tip(self, word).replace("\n", " ") for word in range(len(self.words)))

    def sections(self, trace: Trace, name: str, heading: str) -> list[PageSection]:
        """The attention once more, by grid cells."""
        if name not in trace.attention:
            return []
        cells = replace(self, style="grid", title="")
        figure = frame(below([cells.block(), *self.legend([cells])], gap=16), description=cells.description())
        text = "The cells of the attention, not smoothed."
        return [PageSection("Cell by cell", text, figures=[Card(figure, heading=heading)])]


def _boxes(trace: Trace, what: SeenImage, attention: dict[str, Any]) -> tuple[tuple[Box, ...], ...]:
    """The true boxes of each output piece with known truth; empty if one of them has no box."""
    count = len(attention["words"])
    if not what.places or attention.get("truth") is None:
        return ()
    if trace.single and count == 1:
        return (tuple(place[1:] for place in what.places),)
    known = [bool((row > 0).any()) for row in attention["truth"]]
    found = tuple(
        tuple(place[1:] for place in what.places if place[0] == number and known[number])
        for number in range(count)
    )
    return found if known == [bool(boxes) for boxes in found] else ()


def _check_grid(what: SeenImage, attention: dict[str, Any]) -> None:
    rows, columns = what.grid
    positions = attention["weights"].shape[1]
    if attention["words"] and rows * columns != positions:
        raise RegardError(
            f"a grid of {rows} by {columns} cells has {rows * columns} positions, the attention {positions}."
        )
