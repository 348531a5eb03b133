"""Traces: where a model looked, as numbers and the readable pieces they belong to.

    trace        all of one prediction
    glimpses     several looks for one answer
    heads        the looks of several heads, layer by layer
    pointed      which positions of an input an output points at
    structures   what was selected jointly: arcs, segments, hops, nodes of a tree; the words of sentences
    tape         where the heads of an external memory wrote and read
    seen         what a figure draws of inputs that are no texts: pictures, films, sounds, points

A trace draws nothing itself: its methods hand it to `regard.inspect`, which is imported only then. Nothing here needs
torch, and all of it is JSON both ways: what was written on one machine can be drawn on another.
"""

from regard.trace.glimpses import Glimpses
from regard.trace.heads import HeadLooks
from regard.trace.numbers import Array
from regard.trace.pointed import Pointed, written
from regard.trace.seen import Seen, SeenFilm, SeenPicture, SeenPoints, SeenSeries
from regard.trace.structures import Arcs, Hops, Nodes, Segments, SentenceWords, TracedStructure
from regard.trace.tape import Tape
from regard.trace.trace import Trace

__all__ = [
    "Arcs",
    "Array",
    "Glimpses",
    "HeadLooks",
    "Hops",
    "Nodes",
    "Pointed",
    "Seen",
    "SeenFilm",
    "SeenPicture",
    "SeenPoints",
    "SeenSeries",
    "Segments",
    "SentenceWords",
    "Tape",
    "Trace",
    "TracedStructure",
    "written",
]
