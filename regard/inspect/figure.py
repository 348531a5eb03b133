"""The default figure of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from regard.inspect.arc_drawing import draw_arcs
from regard.inspect.arcs import arc_legend, tell_arcs
from regard.inspect.content import ArcDiagram, HopTable, NodeDiagram, SegmentBands
from regard.inspect.conversation import (
    conversation_legend,
    conversation_of,
    draw_conversation,
    is_conversation,
    tell_conversation,
)
from regard.inspect.copies import copied_links, draw_copies, tell_copies
from regard.inspect.document import document_legend, draw_document, tell_document
from regard.inspect.document_words import DocumentWords
from regard.inspect.heatmap import heatmap, join, reading
from regard.inspect.highlight import answer, highlight, pieces
from regard.inspect.hops import draw_hops, hop_legend, table_of, tell_hops
from regard.inspect.layout import PADDING, WIDEST, Block, below, flowing, frame
from regard.inspect.narrowing import narrowed, with_short_words
from regard.inspect.nodes import draw_nodes, node_legend, tell_nodes
from regard.inspect.perceived import draw_sights, sight, tell_sight
from regard.inspect.scene import Group, Scene
from regard.inspect.segments import bands_of, draw_segments, segment_legend, tell_segments
from regard.inspect.sights import Style
from regard.inspect.tape import draw_tape, tell_tape
from regard.inspect.writing import linked
from regard.reporting.console import safe_console
from regard.trace import (
    Arcs,
    Nodes,
    SeenFilm,
    SeenPicture,
    SeenSeries,
    Segments,
    SentenceWords,
    Trace,
    TracedStructure,
)

Drawing = ArcDiagram | SegmentBands | HopTable | NodeDiagram | DocumentWords


def figure(trace: Trace, *, title: str | None = None, style: Style = "smooth") -> Scene:
    """The default figure: the tape of an external memory; images, video and audio with attention; copies as lines; a
    dialog; joint selections as arcs, segments or hops; a document; a heatmap for text generated with attention, or for
    attention between two inputs; highlighted words for a label; otherwise the output with the probability of each
    piece.

    style   attention to images: "smooth" between cells, or the actual "grid"
    """
    trace = with_short_words(trace)
    if trace.tapes:
        return _taped(trace, title=title)
    if trace.seen:
        return _perceived(trace, title=title, style=style)
    if any(is_conversation(trace, name) for name in trace.input):
        return _conversations(trace, title=title)
    if trace.copied:
        return _copied(trace, title=title)
    if any(_drawable(one) for one in trace.structures.values()):
        return _structures(trace, title=title)
    return _looks(trace, title=title)


def _drawable(found: TracedStructure) -> bool:
    """Whether there is something to draw: a document without attention is only text."""
    return not isinstance(found, SentenceWords) or found.shares is not None


def _taped(trace: Trace, *, title: str | None) -> Scene:
    """The read and write weights of the heads of an external memory, and the output."""
    told = " ".join(tell_tape(trace, name) for name in trace.tapes)
    blocks = [draw_tape(trace, name) for name in trace.tapes]
    written = _looks(replace(trace, tapes={}), title="")
    return frame(
        below([*blocks, unframed(written)], gap=26),
        title=headline(trace) if title is None else title,
        description=f"{told} {written.description}".strip(),
    )


def _conversations(trace: Trace, *, title: str | None) -> Scene:
    """Each dialog with attention, then attention and structures of other inputs."""
    names = [name for name in trace.input if is_conversation(trace, name)]
    shown = [conversation_of(trace, name, title=name if len(names) > 1 else "") for name in names]
    blocks = [below([draw_conversation(one) for one in shown], gap=22), conversation_legend(shown[-1])]
    told = [tell_conversation(one) for one in shown]
    rest = replace(
        trace,
        attention={name: one for name, one in trace.attention.items() if name not in names},
        structures={name: one for name, one in trace.structures.items() if name not in names},
        glimpses={name: one for name, one in trace.glimpses.items() if name not in names},
    )
    if rest.attention or rest.structures:
        other = figure(rest, title="")
        blocks.append(unframed(other))
        told.append(other.description)
    return frame(below(blocks, gap=18), title=title or "", description=" ".join(told))


def _copied(trace: Trace, *, title: str | None) -> Scene:
    """The copied words, then everything that is shown for a text without copies."""
    close = narrowed(trace)
    shown = [copied_links(close, name) for name in trace.copied]
    rest = figure(replace(trace, copied={}), title="")
    return frame(
        below([*(draw_copies(links) for links in shown), unframed(rest)], gap=26),
        title=headline(trace) if title is None else title,
        description=" ".join([*map(tell_copies, shown), rest.description]),
    )


def _looks(trace: Trace, *, title: str | None) -> Scene:
    if not trace.attention:
        return pieces(trace, title=title)
    asked = any(several.names for several in trace.glimpses.values())
    if trace.single and not asked:
        return highlight(trace, title=title)
    return heatmap(narrowed(trace), title=title)


def _perceived(trace: Trace, *, title: str | None, style: Style) -> Scene:
    """All images, video, audio and points, then attention and structures of other inputs; the output if there is
    neither."""
    several = len(trace.seen) > 1
    shown = [sight(trace, name, style=style, title=name if several else "") for name in trace.seen]
    blocks, told = [draw_sights(shown)], [tell_sight(found) for found in shown]
    rest = replace(
        trace,
        seen={},
        attention={
            name: weights
            for name, weights in trace.attention.items()
            if not isinstance(trace.seen.get(name), SeenPicture | SeenFilm | SeenSeries)
        },
        structures={name: one for name, one in trace.structures.items() if name not in trace.seen},
    )
    if rest.attention or rest.structures or not any(found.words for found in shown):
        other = figure(rest, title="")
        blocks.append(unframed(other))
        told.append(other.description)
    return frame(
        below(blocks, gap=26), title=headline(trace) if title is None else title, description=" ".join(told)
    )


def _structures(trace: Trace, *, title: str | None) -> Scene:
    """A figure per structure, with all legends, then the attention that none of them shows."""
    drawable = [name for name, found in trace.structures.items() if _drawable(found)]
    several = len(drawable) > 1
    shown = [_content(trace, name, name if several else "") for name in drawable]
    drawn = [_drawn(content) for content in shown]
    told = [words for _, words in drawn]
    blocks = [below([*(block for block, _ in drawn), *_legends(shown)], gap=18)]
    rest = {n: w for n, w in trace.attention.items() if not _shows_looks(trace, n)}
    labeled = any(isinstance(found, Nodes) and found.labels for found in trace.structures.values())
    if rest or (trace.kind == "tags" and not labeled):
        other = _looks(replace(trace, structures={}, attention=rest), title="")
        blocks.append(unframed(other))
        told.append(other.description)
    return frame(
        below(blocks, gap=26), title=headline(trace) if title is None else title, description=" ".join(told)
    )


def _shows_looks(trace: Trace, name: str) -> bool:
    """Whether the drawing of the structure over an input includes the attention."""
    found = trace.structures.get(name)
    if isinstance(found, Nodes):
        return found.weights is not None
    if isinstance(found, SentenceWords):
        return trace.single
    return not isinstance(found, Arcs | None)


def before_and_after(before: Trace, after: Trace, *, style: Style = "smooth") -> list[Scene]:
    """One input twice: the model's own attention, and the output with the attention overridden.

    The override is outlined in the same way as truth elsewhere.
    """
    named = [("own attention", before), ("overridden", after)]
    return [figure(trace, title=f"{name}:  {headline(trace)}", style=style) for name, trace in named]


def together(scenes: Sequence[Scene]) -> Scene:
    """Several figures as one, side by side if there is room."""
    blocks = [unframed(scene) for scene in scenes]
    spoken = " ".join(scene.description for scene in scenes)
    return frame(flowing(blocks, widest=WIDEST, gap=48), description=spoken)


def unframed(scene: Scene) -> Block:
    """A scene without its margin, for use within another."""
    inner = (Group(scene.marks, dx=-PADDING, dy=-PADDING),)
    return Block(inner, scene.width - 2 * PADDING, scene.height - 2 * PADDING)


def _content(trace: Trace, name: str, title: str) -> Drawing:
    found = trace.structures[name]
    if isinstance(found, Arcs):
        return ArcDiagram(tuple(trace.input[name]), found, title=title)
    if isinstance(found, Nodes):
        return NodeDiagram(tuple(trace.input[name]), found, title=title)
    if isinstance(found, SentenceWords):
        return DocumentWords(found, title=title)
    return (
        bands_of(trace, name, title=title)
        if isinstance(found, Segments)
        else table_of(trace, name, title=title)
    )


def _drawn(content: Drawing) -> tuple[Block, str]:
    """The drawing, and its content in words."""
    if isinstance(content, ArcDiagram):
        return draw_arcs(content), tell_arcs(content)
    if isinstance(content, SegmentBands):
        return draw_segments(content), tell_segments(content)
    if isinstance(content, NodeDiagram):
        return draw_nodes(content), tell_nodes(content)
    if isinstance(content, DocumentWords):
        return draw_document(content), tell_document(content)
    return draw_hops(content), tell_hops(content)


def _legends(shown: Sequence[Drawing]) -> list[Block]:
    """The legends of lines, shades and marks, once per kind of drawing."""
    bands = [content for content in shown if isinstance(content, SegmentBands)]
    tables = [content for content in shown if isinstance(content, HopTable)]
    documents = [content for content in shown if isinstance(content, DocumentWords)]
    return [
        *arc_legend([content for content in shown if isinstance(content, ArcDiagram)]),
        *([segment_legend(bands)] if bands else []),
        *([hop_legend(tables)] if tables else []),
        *node_legend([content for content in shown if isinstance(content, NodeDiagram)]),
        *([document_legend(documents)] if documents else []),
    ]


def headline(trace: Trace) -> str:
    """The title: for a text, input and output; for pointers, themselves; for a label, the question, if any. Trees and
    tapes have no title."""
    if trace.pointed:
        return str(next(iter(trace.pointed.values())))
    if trace.kind == "text":
        return reading(trace)
    drawn = (*trace.structures, *trace.attention, *trace.seen, *trace.tapes)
    asked = [join(pieces) for name, pieces in trace.input.items() if name not in drawn]
    labeled = any(isinstance(one, Nodes) and one.labels for one in trace.structures.values())
    found = "" if trace.kind in ("tree", "bits") or labeled else answer(trace)
    return linked(filter(None, (linked(asked, "+"), found)), "→")


def print_trace(trace: Trace, *, console: Console | None = None) -> None:
    """Print the figure of a trace in the terminal."""
    (console or safe_console()).print(figure(trace))
