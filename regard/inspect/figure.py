"""The default figure of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from regard.inspect.drawings.drawing import Style, TracedDrawing, View, drawn
from regard.inspect.heatmap import heatmap
from regard.inspect.highlight import highlight, pieces
from regard.inspect.idle_signs import with_idle_signs
from regard.inspect.layout import PADDING, WIDEST, Block, below, flowing, frame
from regard.inspect.narrowing import narrowed, with_short_words
from regard.inspect.scene import Group, Scene
from regard.inspect.titles import headline
from regard.reporting.console import safe_console
from regard.trace import Trace

FIELDS = ("tapes", "seen", "layout", "copied", "structures")
"""The fields of a trace that have drawings, in the order in which they are drawn."""


def figure(trace: Trace, *, title: str | None = None, style: Style = "smooth") -> Scene:
    """The default figure of a trace.

    It shows the tape of an external memory; images, video and audio with attention; a dialog; copies as
    lines; joint selections as arcs, segments or hops; a document; a heatmap for text generated with attention, or for
    attention between two inputs; highlighted words for a label; otherwise the output with the probability of each
    piece.

    style   attention to images: "smooth" between cells, or the actual "grid"
    """
    trace = with_short_words(trace)
    for field in FIELDS:
        shown = drawn(trace, field, View(style=style))
        if shown:
            return _drawings(trace, field, shown, title)
    return _attention(trace, title=title)


def _drawings(trace: Trace, field: str, shown: dict[str, TracedDrawing], title: str | None) -> Scene:
    """The drawings of one field with all legends, then what none of them shows."""
    first = next(iter(shown.values()))
    blocks, idle = with_idle_signs(first.stacked(list(shown.values())), trace, list(shown))
    told = [one.description() for one in shown.values()] + [idle] * bool(idle)
    rest = _rest(trace, field, shown)
    if rest.attention or rest.structures or not any(one.shows_output(trace) for one in shown.values()):
        other = figure(rest, title="")
        blocks.append(unframed(other))
        told.append(other.description)
    if title is None:
        title = headline(trace) if first.headed else ""
    return frame(below(blocks, gap=first.gap_below), title=title, description=" ".join(told))


def _rest(trace: Trace, field: str, shown: dict[str, TracedDrawing]) -> Trace:
    """The trace without a field, and without the entries of other fields that its drawings show."""
    replaced = {name: one.replaces(trace, name) for name, one in shown.items()}
    changed: dict[str, Any] = {field: {}}
    for other in {one for several in replaced.values() for one in several} - {field}:
        held = getattr(trace, other)
        changed[other] = {name: one for name, one in held.items() if other not in replaced.get(name, ())}
    return replace(trace, **changed)


def _attention(trace: Trace, *, title: str | None) -> Scene:
    if not trace.attention:
        return pieces(trace, title=title)
    asked = any(several.names for several in trace.glimpses.values())
    if trace.single and not asked:
        return highlight(trace, title=title)
    short = narrowed(trace)
    return heatmap(short, title=title, live=short is trace)


def before_and_after(before: Trace, after: Trace, *, style: Style = "smooth") -> list[Scene]:
    """One input twice: the model's own attention, and the output with the attention overridden.

    The override is outlined in the same way as truth elsewhere.
    """
    named = [("own attention", before), ("overridden", after)]
    return [figure(trace, title=f"{name}:  {headline(trace)}", style=style) for name, trace in named]


def side_by_side(scenes: Sequence[Scene]) -> Scene:
    """Several figures as one, side by side if there is room."""
    blocks = [unframed(scene) for scene in scenes]
    spoken = " ".join(scene.description for scene in scenes)
    return frame(flowing(blocks, widest=WIDEST, gap=48), description=spoken)


def unframed(scene: Scene) -> Block:
    """A scene without its margin, for use within another."""
    inner = (Group(scene.marks, dx=-PADDING, dy=-PADDING),)
    return Block(inner, scene.width - 2 * PADDING, scene.height - 2 * PADDING)


def print_trace(trace: Trace, *, console: Console | None = None) -> None:
    """Print the figure of a trace in the terminal."""
    (console or safe_console()).print(figure(trace))
