"""Trace → figure: where a model looked, drawn in a file, a notebook, a page or the terminal."""

from regard.inspect.alignment import alignment
from regard.inspect.chart import bars
from regard.inspect.confusion import confusion
from regard.inspect.content import Matrix
from regard.inspect.curve import curve
from regard.inspect.figure import figure, print_trace
from regard.inspect.heatmap import heatmap, panels
from regard.inspect.highlight import highlight, pieces, shaded
from regard.inspect.page import Card, Section, page, prediction_fragment, trace_page
from regard.inspect.ranking import beam, labels
from regard.inspect.saving import save
from regard.inspect.scene import Scene
from regard.inspect.svg import svg

__all__ = [
    "Card",
    "Matrix",
    "Scene",
    "Section",
    "alignment",
    "bars",
    "beam",
    "confusion",
    "curve",
    "figure",
    "heatmap",
    "highlight",
    "labels",
    "page",
    "panels",
    "pieces",
    "prediction_fragment",
    "print_trace",
    "save",
    "shaded",
    "svg",
    "trace_page",
]
