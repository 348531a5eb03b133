"""Several models on the same input, one panel each, with the truth first: truth, simple, sigmoid, structured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regard.errors import RegardError
from regard.inspect.drawings.drawing import TracedDrawing, View, drawing_for, traced_drawings
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.heatmap import matrices as heatmap_of
from regard.inspect.heatmap import panels as heatmap_panels
from regard.inspect.layout import frame
from regard.inspect.scene import Scene
from regard.trace import Trace


def compare(
    panels: Sequence[tuple[str, Trace]],
    *,
    over: str | None = None,
    truth: str = "truth",
    title: str = "",
    across: int | None = None,
) -> Scene:
    """One panel for each (name, trace), preceded by the truth if the traces contain it.

    Images, video and audio are drawn once per trace, stacked, with the truth outlined. Traces with arcs are drawn as
    arcs, those with hops as hop tables, those with segments as bands, in which traces with attention only show their
    weights. Attention alone is drawn as heatmaps. Panels are titled with the names, and with the output of each model
    if they differ. All traces should be of the same input.

    over     the input to show; default: the first with a structure or attention
    truth    the title of the first panel; "" leaves it out
    across   panels per row; default: as many as fit
    """
    if not panels:
        raise RegardError("there are no panels to draw.", fix="Give at least one (title, trace).")
    name = over if over is not None else _shared_input(panels)
    for title_of, trace in panels:
        if name not in trace.input or not (name in trace.structures or name in trace.attention):
            raise RegardError(f"the trace of panel {title_of!r} shows nothing over {name!r}.")
    drawing = _drawing(panels, name)
    if drawing is None:
        titles = TracedDrawing.panel_titles(panels, name)
        named = [(titled, trace) for titled, (_, trace) in zip(titles, panels, strict=True)]
        return _compare_attention(named, name, truth, title, across)
    titles = drawing.panel_titles(panels, name)
    shown = [_panel(drawing, trace, name, titled) for titled, (_, trace) in zip(titles, panels, strict=True)]
    known = next((one for one in (panel.truth_panel() for panel in shown) if one is not None), None)
    if truth and known is not None:
        shown.insert(0, known.titled(truth))
    block = drawing.arranged(shown, across)
    return frame(block, title=title, description=drawing.descriptions(shown))


def _drawing(panels: Sequence[tuple[str, Trace]], name: str) -> type[TracedDrawing] | None:
    """The drawing of an input in all panels: that of the first rank among them; None: its attention."""
    traces = [trace for _, trace in panels]
    for field in ("seen", "structures"):
        held = [getattr(trace, field)[name] for trace in traces if name in getattr(trace, field)]
        kinds = {drawing_for(one) for one in held}
        found = next((one for one in traced_drawings() if one in kinds and one.compares(traces)), None)
        if found is not None:
            return found
    return None


def _panel(drawing: type[TracedDrawing], trace: Trace, name: str, titled: str) -> TracedDrawing:
    if not drawing.comparable(trace, name):
        raise RegardError(f"the trace of panel {titled!r} {drawing.lacking} {name!r}, but another one does.")
    made: TracedDrawing = drawing.of(trace, name, View(title=titled))
    return made


def _compare_attention(
    panels: Sequence[tuple[str, Trace]], name: str, truth: str, title: str, across: int | None
) -> Scene:
    shown: list[tuple[str, Matrix]] = []
    for named, trace in panels:
        if name not in trace.attention:
            raise RegardError(f"the trace of panel {named!r} has no attention over {name!r}.")
        only = replace(trace, attention={name: trace.attention[name]})
        shown.append((named, heatmap_of(only)[0]))
    known = next((one for _, one in shown if one.truth is not None), None)
    if truth and known is not None and known.truth is not None:
        shown.insert(0, (truth, replace(known, values=known.truth, truth=None, over="")))
    return heatmap_panels(shown, title=title, across=across)


def _shared_input(panels: Sequence[tuple[str, Trace]]) -> str:
    for held in ([trace.structures for _, trace in panels], [trace.attention for _, trace in panels]):
        for names in held:
            if names:
                return next(iter(names))
    raise RegardError("none of the traces has a structure or attention to compare.")
