"""Trace → figure: where a model looked, drawn in a file, a notebook, a page or the terminal."""

from regard.inspect.alignment import alignment
from regard.inspect.arcs import arcs
from regard.inspect.chart import bars
from regard.inspect.comparison import compare
from regard.inspect.confusion import confusion
from regard.inspect.content import Matrix
from regard.inspect.curve import curve
from regard.inspect.figure import figure, print_trace
from regard.inspect.heatmap import heatmap, panels
from regard.inspect.highlight import highlight, pieces, shaded
from regard.inspect.hops import hops
from regard.inspect.page import Card, Section, page, prediction_fragment, trace_page
from regard.inspect.ranking import beam, labels
from regard.inspect.samples import samples
from regard.inspect.saving import save
from regard.inspect.scene import Scene
from regard.inspect.segments import segments
from regard.inspect.svg import svg

__all__ = [
    "Card",
    "Matrix",
    "Scene",
    "Section",
    "alignment",
    "arcs",
    "bars",
    "beam",
    "compare",
    "confusion",
    "curve",
    "figure",
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
    "segments",
    "shaded",
    "svg",
    "trace_page",
]
