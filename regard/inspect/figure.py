"""The figure that suits a trace, whatever the model was."""

from __future__ import annotations

from rich.console import Console

from regard.inspect.heatmap import heatmap
from regard.inspect.highlight import highlight, pieces
from regard.inspect.scene import Scene
from regard.prediction import Trace


def figure(trace: Trace, *, title: str | None = None) -> Scene:
    """A heatmap where a text was written with attention, highlighted words where a label was found by it, and
    otherwise what was written, piece by piece, with its probabilities."""
    if not trace.attention:
        return pieces(trace, title=title)
    if trace.kind == "label":
        return highlight(trace, title=title)
    return heatmap(trace, title=title)


def print_trace(trace: Trace, *, console: Console | None = None) -> None:
    """The figure of a trace in the terminal."""
    (console or Console()).print(figure(trace))
