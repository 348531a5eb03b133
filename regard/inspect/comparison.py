"""Several models on the same input, one panel each, with the truth first: truth, simple, sigmoid, structured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.inspect.arc_drawing import draw_arcs
from regard.inspect.arcs import arc_legend, tell_arcs
from regard.inspect.content import ArcDiagram, HopTable, Matrix, NodeDiagram, SegmentBands
from regard.inspect.document import document_legend, draw_document, tell_document
from regard.inspect.document_words import DocumentWords
from regard.inspect.heatmap import join
from regard.inspect.heatmap import matrices as heatmap_of
from regard.inspect.heatmap import panels as heatmap_panels
from regard.inspect.highlight import answer
from regard.inspect.hops import draw_hops, hop_legend, table_of, tell_hops
from regard.inspect.layout import WIDEST, Block, below, beside, flowing, frame
from regard.inspect.nodes import draw_nodes, node_legend, tell_nodes
from regard.inspect.perceived import draw_sights, sight, tell_sight
from regard.inspect.scene import Scene
from regard.inspect.segments import bands_of, draw_segments, segment_legend, tell_segments
from regard.inspect.writing import linked, shorten_words
from regard.trace import Arcs, Hops, Nodes, Segments, SentenceWords, Trace


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
    if any(name in trace.seen for _, trace in panels):
        return _compare_sights(panels, name, title)
    panels = _with_what_was_written(panels)
    kinds = [type(trace.structures[name]) for _, trace in panels if name in trace.structures]
    if Arcs in kinds:
        return _compare_arcs(panels, name, truth, title)
    if Hops in kinds:
        return _compare_hops(panels, name, truth, title, across)
    if Segments in kinds:
        return _compare_segments(panels, name, truth, title, across)
    if Nodes in kinds:
        return _compare_nodes(panels, name, title)
    if SentenceWords in kinds and all(trace.single for _, trace in panels):
        return _compare_documents(panels, name, title)
    return _compare_looks(panels, name, truth, title, across)


def _with_what_was_written(panels: Sequence[tuple[str, Trace]]) -> list[tuple[str, Trace]]:
    """Panels whose names include the output of each model, if the outputs differ."""
    written = [written_text(trace) for _, trace in panels]
    if len(set(written)) == 1:
        return list(panels)
    return [(linked([named, text], "→"), trace) for (named, trace), text in zip(panels, written, strict=True)]


def _compare_looks(
    panels: Sequence[tuple[str, Trace]], name: str, truth: str, title: str, across: int | None
) -> Scene:
    shown: list[tuple[str, Trace | Matrix]] = []
    for named, trace in panels:
        only = replace(trace, attention={name: trace.attention[name]})
        shown.append((named, heatmap_of(only)[0]))
    known = next((one for _, one in shown if isinstance(one, Matrix) and one.truth is not None), None)
    if truth and known is not None and known.truth is not None:
        shown.insert(0, (truth, replace(known, values=known.truth, truth=None)))
    return heatmap_panels(shown, title=title, across=across)


def _shared_input(panels: Sequence[tuple[str, Trace]]) -> str:
    for looked in ([trace.structures for _, trace in panels], [trace.attention for _, trace in panels]):
        for names in looked:
            if names:
                return next(iter(names))
    raise RegardError("none of the traces has a structure or attention to compare.")


def _compare_sights(panels: Sequence[tuple[str, Trace]], name: str, title: str) -> Scene:
    # The output stands above the images, except for glimpses.
    titles = [
        linked([named, answer(trace)], "→") if name in trace.glimpses else named for named, trace in panels
    ]
    shown = [sight(trace, name, title=titled) for titled, (_, trace) in zip(titles, panels, strict=True)]
    spoken = " ".join(f"{found.title}: {tell_sight(found)}" for found in shown)
    return frame(draw_sights(shown, gap=24), title=title, description=spoken)


def _compare_segments(
    panels: Sequence[tuple[str, Trace]], name: str, truth: str, title: str, across: int | None
) -> Scene:
    shown = [bands_of(trace, name, title=named) for named, trace in panels]
    known = next((bands for bands in shown if bands.segments.truth is not None), None)
    if truth and known is not None and known.segments.truth is not None:
        gold = Segments(known.segments.truth.astype(np.float64))
        shown.insert(0, replace(known, segments=gold, title=truth))

    def draw(bands: SegmentBands, first: SegmentBands | None) -> Block:
        return draw_segments(bands, row_labels=first is None or bands.targets != first.targets)

    grid = _arranged(shown, draw, across)
    spoken = " ".join(f"{bands.title}: {tell_segments(bands)}" for bands in shown)
    return frame(below([grid, segment_legend(shown)], gap=20), title=title, description=spoken)


def _compare_hops(
    panels: Sequence[tuple[str, Trace]], name: str, truth: str, title: str, across: int | None
) -> Scene:
    shown = [table_of(trace, name, title=named) for named, trace in panels]
    known = next((table for table in shown if table.hops.truth is not None), None)
    if truth and known is not None and known.hops.truth is not None:
        count = known.hops.weights.shape[1]
        gold = np.eye(count)[known.hops.truth] if count else np.zeros((len(known.hops.truth), 0))
        shown.insert(0, replace(known, hops=Hops(gold, truth=known.hops.truth), title=truth))

    def draw(table: HopTable, first: HopTable | None) -> Block:
        return draw_hops(table, row_labels=first is None or table.positions != first.positions)

    grid = _arranged(shown, draw, across)
    spoken = " ".join(f"{table.title}: {tell_hops(table)}." for table in shown)
    return frame(below([grid, hop_legend(shown)], gap=20), title=title, description=spoken)


def _compare_arcs(panels: Sequence[tuple[str, Trace]], name: str, truth: str, title: str) -> Scene:
    shown = []
    for named, trace in panels:
        found = trace.structures.get(name)
        if not isinstance(found, Arcs):
            raise RegardError(
                f"the trace of panel {named!r} has no arcs over {name!r}, but another one does."
            )
        shown.append(ArcDiagram(tuple(trace.input[name]), found, title=named))
    known = next((diagram for diagram in shown if diagram.arcs.true_heads is not None), None)
    if truth and known is not None and known.arcs.true_heads is not None:
        gold = Arcs(known.arcs.true_heads, relations=known.arcs.true_relations)
        shown.insert(0, replace(known, arcs=gold, title=truth))
    blocks = [draw_arcs(diagram) for diagram in shown]
    spoken = " ".join(f"{diagram.title}: {tell_arcs(diagram)}" for diagram in shown)
    return frame(below([*blocks, *arc_legend(shown)], gap=24), title=title, description=spoken)


def _compare_nodes(panels: Sequence[tuple[str, Trace]], name: str, title: str) -> Scene:
    """Trees one after the other; if labels are known, each shows its errors."""
    shown = []
    for named, trace in panels:
        found = trace.structures.get(name)
        if not isinstance(found, Nodes):
            raise RegardError(
                f"the trace of panel {named!r} has no tree over {name!r}, but another one does."
            )
        shown.append(NodeDiagram(tuple(trace.input[name]), found, title=named))
    trees = flowing([draw_nodes(diagram) for diagram in shown], widest=WIDEST)
    spoken = " ".join(f"{diagram.title}: {tell_nodes(diagram)}" for diagram in shown)
    return frame(below([trees, *node_legend(shown)], gap=20), title=title, description=spoken)


def _compare_documents(panels: Sequence[tuple[str, Trace]], name: str, title: str) -> Scene:
    """Documents, stacked."""
    shown = []
    for named, trace in panels:
        found = trace.structures.get(name)
        if not isinstance(found, SentenceWords) or found.shares is None:
            raise RegardError(
                f"the trace of panel {named!r} does not say where it looked in {name!r}, but another one does."
            )
        shown.append(DocumentWords(found, title=named))
    spoken = " ".join(f"{one.title}: {tell_document(one)}" for one in shown)
    blocks = [draw_document(one) for one in shown]
    return frame(below([*blocks, document_legend(shown)], gap=24), title=title, description=spoken)


def written_text(trace: Trace) -> str:
    """The output, as a title."""
    if trace.kind == "text":
        return (shorten_words(trace.hypotheses[0][0], 60) or "∅") if trace.hypotheses else join(trace.output)
    return "" if trace.kind in ("tree", "tags") else answer(trace)


def _arranged(shown: Sequence[Any], draw: Callable[[Any, Any], Block], across: int | None) -> Block:
    """Panels in rows; the panels of a row share the labels of the first if they are equal."""

    def rows(count: int) -> Block:
        lines = [shown[i : i + count] for i in range(0, len(shown), count)]
        drawn = [[draw(one, line[0] if i else None) for i, one in enumerate(line)] for line in lines]
        return below([beside(blocks, gap=30) for blocks in drawn])

    if across is not None:
        return rows(max(1, across))
    choices = [len(shown), *range((len(shown) + 1) // 2, 0, -1)]
    return next((block for block in map(rows, choices) if block.width <= WIDEST), rows(1))
