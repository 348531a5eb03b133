"""The figure of an input that is not a text: an image, a video, audio or points."""

from __future__ import annotations

from regard.errors import RegardError
from regard.inspect.drawings.drawing import Style, View, drawn
from regard.inspect.layout import below, frame
from regard.inspect.scene import Scene
from regard.trace import Trace


def draw_input(trace: Trace, *, over: str | None = None, style: Style = "smooth", title: str = "") -> Scene:
    """The input with the attention of each output piece; the end of a text is left out.

    over    the input to show if there are several; default: the first
    style   attention to images: "smooth" interpolates between grid cells, "grid" shows them
    """
    name = over if over is not None else next(iter(trace.seen), None)
    if name is None or name not in trace.seen:
        known = ", ".join(trace.seen) or "none"
        raise RegardError(
            f"the trace has no image, video, audio or points named {name!r}; it has: {known}."
            if name
            else "this trace has no image, video, audio or points to show."
        )
    found = drawn(trace, "seen", View(style=style))[name].titled("")
    return frame(below(found.stacked([found])), title=title, description=found.description())
