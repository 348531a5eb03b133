"""Copied words of an output: the source above, the output below, and a line for each copied word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from regard.errors import RegardError
from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View
from regard.inspect.drawings.links import Links
from regard.inspect.handles import Handle, PieceHandle, WordHandle
from regard.inspect.layout import Block, frame
from regard.inspect.narrowing import narrowed
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Scene, Shape, Text
from regard.inspect.titles import reading
from regard.inspect.writing import is_special, runs_right_to_left, text_width, visible
from regard.parts import register
from regard.trace import Trace

SIZE = 14.0
LINE = 27.0
WIDTH = 640.0
"""Width of the lines of words; longer texts wrap."""
RISE = 64.0
"""Distance between the source and the output, for the lines."""
PAD = 5.0
LEAST = 0.1
"""Minimum probability of a copy that is drawn."""
HIGH = LINE - 5.0

Place = tuple[float, float, float]
"""Left edge, top and width of a word."""


@register("drawing", "copies")
@dataclass(frozen=True, eq=False)
class CopiedWords(Links, TracedDrawing):
    """The probability that each word of the output was copied from each word of an input."""

    field: ClassVar[str] = "copied"

    over: str = ""

    @classmethod
    def shows(cls, trace: Trace, name: str) -> bool:
        return name in trace.copied

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> CopiedWords:
        short = narrowed(trace)
        sources, targets = tuple(short.input[name]), tuple(short.output)
        truth, title = short.truth.get(name), f"copied from {name}"
        over = name if short is trace else ""
        return cls(sources, targets, short.copied[name], truth, LEAST, title=title, over=over)

    def shows_output(self, trace: Trace) -> bool:
        return False

    def block(self) -> Block:
        return _draw(self)

    @classmethod
    def stacked(cls, shown: Sequence[Any]) -> list[Block]:
        return [one.block() for one in shown]

    def description(self) -> str:
        found = [
            f"{visible(word)} (from position {int(row.argmax()) + 1}, {row.sum():.2f})"
            for word, row in zip(self.targets, self.weights, strict=True)
            if row.sum() > 0.5
        ]
        return f"Copied: {', '.join(found)}." if found else "Nothing was copied."


def copies(trace: Trace, *, over: str | None = None, title: str | None = None) -> Scene:
    """The figure of the copied words.

    over   the input to show; default: the first that was copied from
    """
    name = over if over is not None else next(iter(trace.copied), None)
    if name is None or name not in trace.copied:
        known = ", ".join(trace.copied) or "none"
        raise RegardError(f"the trace has no copies of {name!r}; it has: {known}.")
    links = CopiedWords.of(trace, name)
    written = reading(trace) if title is None else title
    return frame(links.block(), title=written, description=links.description())


def _draw(links: CopiedWords) -> Block:
    """Both texts in lines, with copied words shaded, and a curve per copy, whose width grows with its probability."""
    taken = links.weights.max(0, initial=0.0)
    copied = links.weights.sum(1)
    source, low = _lines(links.sources, 20.0)
    target, height = _lines(links.targets, low + RISE)
    marks: list[Mark] = [Text(0, 12, links.title, size=11, color="muted")]
    for index in np.argsort(links.weights, axis=None, kind="stable"):  # strongest last, on top
        to, start = divmod(int(index), max(len(links.sources), 1))
        if links.weights[to, start] >= links.threshold:
            marks.append(_curve(links, to, start, source[start], target[to]))
    marks += _behind(source, taken)
    words = [WordHandle(links.over, place) if links.over else None for place in range(len(source))]
    marks += _words(links.sources, source, taken, words)
    marks += _words(links.targets, target, copied, list(map(PieceHandle, range(len(target)))))
    marks += _legend(height + 14, truth=links.truth is not None)
    return Block((Group(tuple(marks), kind="links", content=links),), WIDTH, height + 18)


def _behind(places: Sequence[Place], shares: Sequence[float]) -> list[Mark]:
    """Paper behind the words of the lower lines, so that they stay readable over curves."""
    return [
        Rect(x, y + 1, width, HIGH - 2, fill="paper", opacity=0.85, radius=4)
        for (x, y, width), share in zip(places, shares, strict=True)
        if y > places[0][1] and float(share) < LEAST
    ]


def _legend(y: float, *, truth: bool) -> list[Mark]:
    """The legend of shades and lines; truth: whether correct copies have their own color."""
    note = "shaded: copied; the thicker the line, the more certain"
    marks: list[Mark] = [Text(0, y, note, size=11, color="muted")]
    x = 1.06 * text_width(note, 11) + 18
    for stroke, said in (("accent", "copied"), ("truth", "copied from the true position")) if truth else ():
        marks.append(Shape((("M", (x, y - 4)), ("L", (x + 18, y - 4))), stroke=stroke, width=2.5))
        marks.append(Text(x + 24, y, said, size=11, color="muted"))
        x += 24 + 1.06 * text_width(said, 11) + 16
    return marks


def _lines(words: Sequence[str], top: float) -> tuple[list[Place], float]:
    """The position of each word, in lines of at most WIDTH, and the lower edge of the last line."""
    rtl, places = runs_right_to_left(tuple(words)), list[Place]()
    x, y = 0.0, top
    for word in words:
        width = min(max(1.06 * text_width(visible(word), SIZE), 8.0) + 2 * PAD, WIDTH)
        if x and x + width > WIDTH:
            x, y = 0.0, y + LINE
        places.append((WIDTH - x - width if rtl else x, y, width))
        x += width + 2
    return places, y + LINE


def _words(
    words: Sequence[str], places: Sequence[Place], shares: Sequence[float], handles: Sequence[Handle | None]
) -> list[Mark]:
    marks: list[Mark] = []
    for word, (x, y, width), share, at in zip(words, places, shares, handles, strict=True):
        drawn = float(share) >= LEAST
        shade = Shade(min(1.0, float(share)))
        if drawn:
            marks.append(
                Rect(x, y, width, HIGH, fill=shade, radius=4, tip=f"{visible(word)}  {float(share):.2f}")
            )
        ink = Over(shade) if drawn else "muted" if is_special(word) else "ink"
        middle = x + width / 2
        marks.append(Text(middle, y + 15.5, visible(word), size=SIZE, anchor="middle", color=ink, at=at))
    return marks


def _curve(links: Links, to: int, start: int, source: Place, target: Place) -> Shape:
    weight = float(links.weights[to, start])
    true = links.truth is not None and bool(links.truth[to, start] > 0)
    x1, y1 = source[0] + source[2] / 2, source[1] + HIGH
    x2, y2 = target[0] + target[2] / 2, target[1]
    bend = 0.5 * (y2 - y1)
    return Shape(
        (("M", (x1, y1)), ("C", (x1, y1 + bend, x2, y2 - bend, x2, y2))),
        stroke="truth" if true else "accent",
        width=0.75 + 2.25 * min(1.0, weight),
        opacity=0.2 + 0.7 * min(1.0, weight),
        tip=f"{visible(links.sources[start])} → {visible(links.targets[to])}  {weight:.2f}",
        tags=(("row", str(to)), ("column", str(start)), ("value", f"{weight:.6g}")),
    )
