"""Traces: the attention of a model, as numbers and the readable pieces to which they belong.

    trace        everything about one prediction
    glimpses     several looks for one answer
    heads        the attention of several heads, layer by layer
    pointed      the positions of an input that an output points at
    traced       what a trace holds for an input, by its kind; a drawing names the class that it draws
    potentials   the scores behind a structure
    structure    the base class of structures
    structures   structures that were selected: arcs, segments, hops, nodes of a tree; the words of sentences
    beam         the hypotheses of a search as a tree
    tape         where the heads of an external memory wrote and read
    file         a trace as one file
    views        how a trace is drawn, and its panels
    seen         inputs that are not texts, as figures draw them: images, videos, audio, points

One word for each thing: a *look* is the attention of one query, *glimpses* are several looks for one answer, an input
is *seen* if it is not a text.

A trace draws nothing itself: its methods pass it to what `regard.inspect` installs (`views`), loaded only then.
Nothing here needs torch, and everything can be written to and read from JSON, so that a trace can be drawn on another
machine.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.trace.beam import BeamNode, BeamTree
    from regard.trace.glimpses import Glimpses
    from regard.trace.heads import LayerHeads
    from regard.trace.pointed import Pointed, written
    from regard.trace.potentials import Potentials
    from regard.trace.seen import Seen, SeenGraph, SeenImage, SeenPoints, SeenSeries, SeenTable, SeenVideo
    from regard.trace.structure import TracedStructure
    from regard.trace.structures import Arcs, Constituents, Hops, Nodes, Segments, SentenceWords
    from regard.trace.tape import Tape
    from regard.trace.trace import Trace
    from regard.trace.traced import Array, Traced
    from regard.trace.views import Panel
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "Arcs",
    "Array",
    "BeamNode",
    "BeamTree",
    "Constituents",
    "Glimpses",
    "Hops",
    "LayerHeads",
    "Nodes",
    "Panel",
    "Pointed",
    "Potentials",
    "Seen",
    "SeenGraph",
    "SeenImage",
    "SeenPoints",
    "SeenSeries",
    "SeenTable",
    "SeenVideo",
    "Segments",
    "SentenceWords",
    "Tape",
    "Trace",
    "Traced",
    "TracedStructure",
    "written",
]
