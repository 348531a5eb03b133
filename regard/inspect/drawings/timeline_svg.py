"""The marks of attention over time: rows of shaded cells: one row per word, with time from left to right.

Frames of a video and spectrograms of audio are drawn above them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.inspect.drawings.input_attention import TimedAttention
from regard.inspect.handles import PieceHandle
from regard.inspect.layout import Block, color_scale
from regard.inspect.palette import Shade
from regard.inspect.scene import Group, Mark, Rect, Text
from regard.inspect.writing import is_special, text_width, visible

BAR = 44.0
"""Width of a full bar of probability."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a row: the height of its cells, the gap below them, and its font."""

    high: float
    gap: float
    font: float

    @property
    def pitch(self) -> float:
        return self.high + self.gap


def sizes(attention: TimedAttention) -> Sizes:
    """Row sizes; the more rows, the lower: words of a caption, or letters of a sentence."""
    for most, fitting in ((16, Sizes(22, 4, 14)), (32, Sizes(15, 3, 12)), (64, Sizes(11, 2, 10))):
        if len(attention.words) <= most:
            return Sizes(15, 3, 11) if attention.small else fitting
    return Sizes(7, 1, 7)


def label_room(attention: TimedAttention) -> float:
    """The width of the words on the left, with padding; 0 if there are no words."""
    size = sizes(attention).font
    return max((1.06 * text_width(visible(word), size) for word in attention.words), default=-11.0) + 11


def draw_rows(attention: TimedAttention, left: float, width: float, top: float) -> Block:
    """The rows from (left, top): words on the left, cells over `width`, probabilities on the right."""
    shape = sizes(attention)
    rows = [
        _row(attention, word, left, width, top + word * shape.pitch, shape)
        for word in range(len(attention.words))
    ]
    shown = attention.probabilities is not None and not attention.small and bool(attention.words)
    right = left + width + (10 + BAR + 34 if shown else 0)
    group = Group(tuple(rows), kind="rows")
    return Block((group,), right, top + max(0.0, len(rows) * shape.pitch - shape.gap))


def _row(attention: TimedAttention, word: int, left: float, width: float, y: float, shape: Sizes) -> Group:
    # Invisible, but makes the whole row respond to a pointer, gaps included.
    marks: list[Mark] = [Rect(0, y - shape.gap / 2, left + width, shape.pitch, fill="paper", opacity=0)]
    label = visible(attention.words[word])
    color = "muted" if is_special(attention.words[word]) else "ink"
    middle = y + shape.high / 2 + shape.font * 0.35
    at = PieceHandle(word) if attention.pieces else None
    marks.append(Text(left - 10, middle, label, size=shape.font, anchor="end", color=color, at=at))
    marks.append(Rect(left, y, width, shape.high, fill=Shade(0.0), stroke="faint", stroke_width=0.75))
    marks += _cells(attention, word, left, width, y, shape)
    for begin, end in attention.true_spans(word):
        marks.append(
            Rect(left + begin * width, y - 0.5, (end - begin) * width, shape.high + 1, stroke="truth",
                 stroke_width=2 if shape.high > 10 else 1.25, radius=2, tags=(("truth", "1"),))
        )  # fmt: skip
    if attention.probabilities is not None and not attention.small:
        marks += _sure(float(attention.probabilities[word]), left + width + 10, y, shape)
    return Group(tuple(marks), kind="row", tags=(("row", str(word)), ("label", attention.words[word])))


def _cells(
    attention: TimedAttention, word: int, left: float, width: float, y: float, shape: Sizes
) -> list[Mark]:
    """The cells with any shade; the background of the row shows the others."""
    bounds = attention.bounds
    overlap = 0.0 if width / max(1, len(bounds) - 1) > 4 else 0.3  # no hairlines between narrow cells
    marks: list[Mark] = []
    for position in range(len(bounds) - 1):
        shade = Shade(attention.shade(word, position))
        if not shade.level:
            continue
        x, end = left + float(bounds[position]) * width, left + float(bounds[position + 1]) * width
        weight = float(attention.weights[word, position])
        marks.append(
            Rect(x, y, end - x + overlap, shape.high, fill=shade,
                 tip=f"{visible(attention.words[word])} ← {attention.when(position)}  {weight:.3f}",
                 tags=(("column", str(position)), ("value", f"{weight:.4g}")), at=attention.handle(word, position))
        )  # fmt: skip
    return marks


def _sure(value: float, x: float, y: float, shape: Sizes) -> list[Mark]:
    """A bar whose length shows the probability, and the number."""
    thick, middle, size = max(2.0, shape.high * 0.2), y + shape.high / 2, min(11.0, shape.font)
    share = min(1.0, max(0.0, value))
    return [
        Rect(x, middle - thick / 2, BAR, thick, fill="faint", radius=thick / 2),
        Rect(x, middle - thick / 2, max(thick, BAR * share), thick, fill="accent", radius=thick / 2),
        Text(x + BAR + 6, middle + size * 0.36, f"{value:.2f}", size=size, color="muted"),
    ]


def time_legend(shown: Sequence[TimedAttention]) -> Block:
    """The scale of the shades, one per drawing, and the meaning of the outline."""
    limits = {attention.limit for attention in shown}
    return color_scale(
        name="weight",
        end=f"{limits.pop():g}" if len(limits) == 1 else "its largest",
        truth=any(attention.known for attention in shown),
        outlined=shown[0].outlined,
    )


def tell_rows(attention: TimedAttention) -> str:
    """The most attended time of each word, in words."""
    parts = []
    for word, weights in enumerate(attention.weights):
        if not len(weights):
            continue
        best, hit = attention.best(word), attention.hits(word)
        judged = "" if hit is None else f", {'on' if hit else 'beside'} the {attention.outlined}"
        told = f"{visible(attention.words[word])} looks most at {attention.when(best)} ({weights[best]:.2f}){judged}"
        parts.append(told)
    return " · ".join(parts)
