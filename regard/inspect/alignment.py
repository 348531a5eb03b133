"""Two lines of words, joined by links whose strength is the attention."""

from __future__ import annotations

import numpy as np

from regard.errors import RegardError
from regard.inspect.drawings.links import Links
from regard.inspect.heatmap import describe
from regard.inspect.layout import Block, frame
from regard.inspect.scene import Group, Mark, Scene, Shape, Text
from regard.inspect.writing import is_special, runs_right_to_left, text_width, visible
from regard.trace import Trace

SIZE = 15.0
RISE = 92.0
"""Distance between the two lines of words, for the links."""
THINNEST, THICKEST = 0.75, 4.0


def alignment(trace: Trace, *, over: str | None = None, threshold: float = 0.1, title: str = "") -> Scene:
    """The source above, the output below; a link for each pair whose weight reaches the threshold.

    over   the input to show if several were attended to; default: the first
    """
    name = over if over is not None else next(iter(trace.attention), None)
    if name is None or name not in trace.attention:
        known = ", ".join(trace.attention) or "none"
        raise RegardError(f"the trace has no attention over {name!r}; it has: {known}.")
    links = Links(
        tuple(trace.input[name]), tuple(trace.output), trace.attention[name], trace.truth.get(name), threshold
    )
    return frame(draw_links(links), title=title, description=describe(trace))


def draw_links(links: Links) -> Block:
    """The two lines centered above each other, with links as curves that start and end vertically."""
    above, source_width = _spread(links.sources)
    under, target_width = _spread(links.targets)
    width = max(source_width, target_width)
    above = [x + (width - source_width) / 2 for x in above]
    under = [x + (width - target_width) / 2 for x in under]
    top, bottom = SIZE + 8, SIZE + 8 + RISE
    marks: list[Mark] = []
    # Strongest last, so that they are on top.
    for index in np.argsort(links.weights, axis=None, kind="stable"):
        target, source = divmod(int(index), len(links.sources))
        weight = float(links.weights[target, source])
        if weight >= links.threshold:
            true = links.truth is not None and bool(links.truth[target, source] > 0)
            marks.append(
                _link(links, target, source, weight, (above[source], top), (under[target], bottom), true)
            )
    for words, places, y in ((links.sources, above, SIZE), (links.targets, under, bottom + SIZE + 4)):
        for word, x in zip(words, places, strict=True):
            color = "muted" if is_special(word) else "ink"
            marks.append(Text(x, y, visible(word), size=SIZE, anchor="middle", color=color))
    return Block((Group(tuple(marks), kind="links", content=links),), width, bottom + SIZE + 10)


def _spread(words: tuple[str, ...]) -> tuple[list[float], float]:
    """The centers of words in a line, and its width."""
    sizes = [max(text_width(visible(word), SIZE), 10.0) + 16 for word in words]
    ends = np.cumsum([0.0, *sizes])
    middles = [float(ends[i]) + size / 2 for i, size in enumerate(sizes)]
    total = float(ends[-1])
    return ([total - x for x in middles] if runs_right_to_left(words) else middles), total


def _link(links: Links, target: int, source: int, weight: float, start: tuple[float, float],
          end: tuple[float, float], true: bool) -> Shape:  # fmt: skip
    share = min(1.0, max(0.0, weight))
    bend = RISE * 0.45
    (x1, y1), (x2, y2) = start, end
    return Shape(
        (("M", (x1, y1)), ("C", (x1, y1 + bend, x2, y2 - bend, x2, y2))),
        stroke="truth" if true else "accent",
        width=THINNEST + share * (THICKEST - THINNEST),
        opacity=0.12 + 0.88 * share,
        tip=f"{visible(links.sources[source])} → {visible(links.targets[target])}  {weight:.2f}",
        tags=(("row", str(target)), ("column", str(source)), ("value", f"{weight:.6g}")),
    )
