"""A tree in character cells: a word per line, parents to the left of their children.

3 ┬ 2 It
  └ 4 ┬ 4 works
      └ 2 well
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from regard.inspect.terminal.ink import Ink
from regard.inspect.writing import shorten, shorten_words, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.nodes import NodeDiagram


def draw_nodes(diagram: NodeDiagram, width: int, ink: Ink) -> Iterator[Text]:
    """The tree in lines of at most `width` cells."""
    if diagram.title:
        yield Text(shorten_words(diagram.title, width), style=ink.style("ink", bold=True))
    if not diagram.words:
        yield Text(shorten("(nothing to show)", width), style=ink.style("muted"))
        return
    waiting: list[tuple[int, Text, str]] = [(len(diagram.words) - 1, Text(), "")]
    while waiting:  # a node, the text to its left on its first line, and on the lines below
        place, first, rest = waiting.pop()
        cell = _cell(diagram, place, ink)
        below = diagram.children[place]
        if not below:
            first.append(cell)
            first.append(" " if len(cell) else "").append(
                visible(diagram.words[place]), style=ink.style("ink")
            )
            yield _cropped(first, width)
            continue
        cell = cell if len(cell) else Text("·", style=ink.style("muted"))
        pad = " " * (cell_len(cell.plain) + 1)
        for number, child in reversed(list(enumerate(below))):
            last = number == len(below) - 1
            sign = ("─ " if last else "┬ ") if not number else "└ " if last else "├ "
            before = first.copy().append(cell).append(" ") if not number else Text(rest + pad)
            before.append(sign, style=ink.style("muted"))
            waiting.append((child, before, rest + pad + ("  " if last else "│ ")))


def _cropped(found: Text, width: int) -> Text:
    """A line that is too long, cut at the left, so that the word stays visible."""
    found.no_wrap, found.overflow = True, "ellipsis"
    cut = 0
    while cell_len(found.plain[cut:]) > max(1, width - 1) and cut < len(found.plain):
        cut += 1
    if not cut or cell_len(found.plain) <= width:
        return found
    kept = Text("…", no_wrap=True, overflow="crop")
    kept.append(found[cut:])
    return kept


def _cell(diagram: NodeDiagram, place: int, ink: Ink) -> Text:
    said = diagram.note(place)
    if not said:
        return Text()
    if diagram.nodes.weights is not None:
        return Text(said, style=ink.on(diagram.share(place)))
    return Text(said, style=ink.style("truth" if diagram.wrong(place) else "accent", bold=True))


def node_notes(shown: Sequence[NodeDiagram], width: int, ink: Ink) -> Iterator[Text]:
    """The legend."""
    parts = []
    if any(diagram.nodes.weights is not None and not diagram.nodes.labels for diagram in shown):
        parts.append("numbers: weight of each node")
    if any(diagram.wrong(place) for diagram in shown for place in range(len(diagram.words))):
        parts.append("2≠3: found 2, true 3")
    if parts:
        yield Text(shorten("   ".join(parts), width), style=ink.style("muted"))
