"""From traces to figures: the attention of a model in a file, a notebook, a page or the terminal.

`draw` is loaded on first use, because it draws distributions of torch; traces are drawn without torch.
"""

from typing import TYPE_CHECKING, Any

from regard.inspect.alignment import alignment
from regard.inspect.chart import bars
from regard.inspect.comparison import compare
from regard.inspect.confusion import confusion
from regard.inspect.curve import curve
from regard.inspect.drawings.arcs import arcs
from regard.inspect.drawings.conversation import conversation
from regard.inspect.drawings.copies import copies
from regard.inspect.drawings.document import document
from regard.inspect.drawings.drawing import PLAIN, Drawing, TracedDrawing, View
from regard.inspect.drawings.hops import hops
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.drawings.segments import segments
from regard.inspect.figure import before_and_after, figure, print_trace, side_by_side
from regard.inspect.gallery import Example, gallery
from regard.inspect.groups import groups_figure
from regard.inspect.handles import (
    ArcHandle,
    BranchHandle,
    Handle,
    PieceHandle,
    PlaneHandle,
    SegmentHandle,
    WeightHandle,
    WordHandle,
)
from regard.inspect.heads import heads_figure
from regard.inspect.heatmap import heatmap, panels
from regard.inspect.highlight import highlight, pieces, shaded
from regard.inspect.inputs import draw_input
from regard.inspect.layout import Block
from regard.inspect.lengths import lengths_figure
from regard.inspect.notebook import notebook_table, notebook_title
from regard.inspect.page import page, prediction_fragment, trace_page
from regard.inspect.ranking import beam, labels
from regard.inspect.samples import samples
from regard.inspect.saving import save
from regard.inspect.scene import Renderers, Scene
from regard.inspect.scene import install as install_renderers
from regard.inspect.section import Card, PageSection
from regard.inspect.svg import svg
from regard.inspect.terminal import Ink, render
from regard.inspect.trace_panels import panels_of
from regard.trace.views import Views
from regard.trace.views import install as install_views

if TYPE_CHECKING:
    from regard.inspect.distribution import draw

__all__ = [
    "PLAIN",
    "ArcHandle",
    "Block",
    "BranchHandle",
    "Card",
    "Drawing",
    "Example",
    "Handle",
    "Ink",
    "Matrix",
    "PageSection",
    "PieceHandle",
    "PlaneHandle",
    "Scene",
    "SegmentHandle",
    "TracedDrawing",
    "View",
    "WeightHandle",
    "WordHandle",
    "alignment",
    "arcs",
    "bars",
    "beam",
    "before_and_after",
    "compare",
    "confusion",
    "conversation",
    "copies",
    "curve",
    "document",
    "draw",
    "draw_input",
    "figure",
    "gallery",
    "groups_figure",
    "heads_figure",
    "heatmap",
    "highlight",
    "hops",
    "labels",
    "lengths_figure",
    "notebook_table",
    "notebook_title",
    "page",
    "panels",
    "pieces",
    "prediction_fragment",
    "print_trace",
    "samples",
    "save",
    "segments",
    "shaded",
    "side_by_side",
    "svg",
    "trace_page",
]

install_renderers(Renderers(svg, save, render))  # the methods of a scene that write it
install_views(
    Views(
        figure=figure,
        heads=heads_figure,
        panels=panels_of,
        page=lambda trace, title: trace_page(trace, title=title),
        save=save,
        prediction=prediction_fragment,
    )
)  # the methods of a trace that draw it


def __getattr__(name: str) -> Any:
    if name == "draw":
        from regard.inspect.distribution import draw

        return draw
    raise AttributeError(f"module 'regard.inspect' has no attribute {name!r}")
