"""`console.print(scene)`: the title, then the content of the scene's groups, from top to bottom.

A terminal has no pixels for marks, so the content of a group (`Group.content`) is redrawn in character cells, and
images become half blocks. Other marks are left out: they label or decorate content that has its own labels here.
Without color, weights become digits, so that a log file or a screen reader gets the same figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions
from rich.text import Text

from regard.inspect.content import (
    ArcDiagram,
    Chart,
    Content,
    Conversation,
    HeadPanels,
    HeadPaths,
    HopTable,
    Lines,
    Links,
    Matrix,
    NodeDiagram,
    Ranking,
    SegmentBands,
    WeightedWords,
)
from regard.inspect.document_words import DocumentWords
from regard.inspect.scene import Group, Image, Mark, Scene
from regard.inspect.sights import FilmLooks, PictureLooks, PlaneLooks, SeriesLooks
from regard.inspect.terminal.arcs import draw_arcs
from regard.inspect.terminal.chart import draw_chart
from regard.inspect.terminal.conversation import conversation_notes, draw_conversation
from regard.inspect.terminal.document import document_notes, draw_document
from regard.inspect.terminal.head_paths import draw_head_paths
from regard.inspect.terminal.heads import draw_heads, head_notes
from regard.inspect.terminal.hops import draw_hops, hop_notes
from regard.inspect.terminal.ink import Ink
from regard.inspect.terminal.matrix import draw_matrix, legend
from regard.inspect.terminal.nodes import draw_nodes, node_notes
from regard.inspect.terminal.picture import draw_picture
from regard.inspect.terminal.plane import draw_plane
from regard.inspect.terminal.segments import draw_segments, segment_notes
from regard.inspect.terminal.sights import draw_looks, look_notes
from regard.inspect.terminal.timeline import draw_film, draw_series, time_notes
from regard.inspect.terminal.words import draw_lines, draw_links, draw_ranking, draw_words, word_notes
from regard.reporting.terminal import printable


def render(scene: Scene, console: Console, options: ConsoleOptions) -> Iterator[Text]:
    """The lines of a scene, at most as wide as the console."""
    ink, width = Ink.of(console), options.max_width
    if scene.title:
        yield Text(printable(scene.title), style=ink.style("ink", bold=True), overflow="fold")
        yield Text()
    parts = list(_parts(scene.marks))
    for number, part in enumerate(parts):
        if number:
            yield Text()
        yield from draw_picture(part, width, ink) if isinstance(part, Image) else _draw(part, width, ink)
    for notes in _notes([part for part in parts if not isinstance(part, Image)], width, ink):
        yield Text()
        yield from notes


def _parts(marks: Sequence[Mark]) -> Iterator[Content | Image]:
    """The contents and images that a terminal can draw, in painting order; groups with content are not searched."""
    for mark in marks:
        if isinstance(mark, Image):
            yield mark
        elif isinstance(mark, Group):
            if mark.content is not None:
                yield mark.content
            else:
                yield from _parts(mark.marks)


def _notes(parts: Sequence[Content], width: int, ink: Ink) -> Iterator[list[Text]]:
    """The legends of shades and signs, once per kind of content."""
    matrices = [part for part in parts if isinstance(part, Matrix) and part.rows and part.columns]
    if matrices and not all(matrix.numbers for matrix in matrices):
        yield list(legend(matrices, width, ink))
    bands = [part for part in parts if isinstance(part, SegmentBands) and part.targets and part.sources]
    tables = [part for part in parts if isinstance(part, HopTable) and part.positions]
    talks = [part for part in parts if isinstance(part, Conversation)]
    nodes = [part for part in parts if isinstance(part, NodeDiagram)]
    pictures = [part for part in parts if isinstance(part, PictureLooks)]
    timed = [part for part in parts if isinstance(part, FilmLooks | SeriesLooks)]
    layers = [part for part in parts if isinstance(part, HeadPanels)]
    words = [part for part in parts if isinstance(part, WeightedWords)]
    for notes in (
        list(head_notes(layers, width, ink)),
        list(word_notes(words, width, ink)),
        list(segment_notes(bands, width, ink)),
        list(hop_notes(tables, width, ink)),
        list(conversation_notes(talks, width, ink)),
        list(node_notes(nodes, width, ink)),
        list(document_notes([part for part in parts if isinstance(part, DocumentWords)], width, ink)),
        list(look_notes(pictures, width, ink)),
        list(time_notes(timed, width, ink)),
    ):
        if notes:
            yield notes


def _draw(content: Content, width: int, ink: Ink) -> Iterator[Text]:
    match content:
        case Matrix():
            return draw_matrix(content, width, ink)
        case HeadPanels():
            return draw_heads(content, width, ink)
        case WeightedWords():
            return draw_words(content, width, ink)
        case Chart():
            return draw_chart(content, width, ink)
        case Links():
            return draw_links(content, width, ink)
        case Ranking():
            return draw_ranking(content, width, ink)
        case ArcDiagram():
            return draw_arcs(content, width, ink)
        case SegmentBands():
            return draw_segments(content, width, ink)
        case HopTable():
            return draw_hops(content, width, ink)
        case Conversation():
            return draw_conversation(content, width, ink)
        case NodeDiagram():
            return draw_nodes(content, width, ink)
        case DocumentWords():
            return draw_document(content, width, ink)
        case HeadPaths():
            return draw_head_paths(content, width, ink)
        case Lines():
            return draw_lines(content, width, ink)
        case PictureLooks():
            return draw_looks(content, width, ink)
        case FilmLooks():
            return draw_film(content, width, ink)
        case SeriesLooks():
            return draw_series(content, width, ink)
        case PlaneLooks():
            return draw_plane(content, width, ink)
