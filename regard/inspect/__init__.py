"""From traces to figures: the attention of a model in a file, a notebook, a page or the terminal.

`draw` is loaded on first use, because it draws distributions of torch; traces are drawn without torch.
"""

from typing import TYPE_CHECKING, Any

from regard.inspect.alignment import alignment
from regard.inspect.arcs import arcs
from regard.inspect.chart import bars
from regard.inspect.comparison import compare
from regard.inspect.confusion import confusion
from regard.inspect.content import Matrix
from regard.inspect.conversation import conversation
from regard.inspect.copies import copies
from regard.inspect.curve import curve
from regard.inspect.document import document
from regard.inspect.figure import before_and_after, figure, print_trace, together
from regard.inspect.gallery import Example, gallery
from regard.inspect.groups import groups_figure
from regard.inspect.heads import heads_figure
from regard.inspect.heatmap import heatmap, panels
from regard.inspect.highlight import highlight, pieces, shaded
from regard.inspect.hops import hops
from regard.inspect.page import Card, Section, page, prediction_fragment, trace_page
from regard.inspect.perceived import seen
from regard.inspect.ranking import beam, labels
from regard.inspect.samples import samples
from regard.inspect.saving import save
from regard.inspect.scene import Scene
from regard.inspect.segments import segments
from regard.inspect.svg import svg

if TYPE_CHECKING:
    from regard.inspect.distribution import draw

__all__ = [
    "Card",
    "Example",
    "Matrix",
    "Scene",
    "Section",
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
    "figure",
    "gallery",
    "groups_figure",
    "heads_figure",
    "heatmap",
    "highlight",
    "hops",
    "labels",
    "page",
    "panels",
    "pieces",
    "prediction_fragment",
    "print_trace",
    "samples",
    "save",
    "seen",
    "segments",
    "shaded",
    "svg",
    "together",
    "trace_page",
]


def __getattr__(name: str) -> Any:
    if name == "draw":
        from regard.inspect.distribution import draw

        return draw
    raise AttributeError(f"module 'regard.inspect' has no attribute {name!r}")
