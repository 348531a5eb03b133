"""Attention to a graph: its nodes, shaded by their largest weight, its edges with their relations, and what looked at
each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text as Line

from regard.inspect.drawings.drawing import PLAIN, View
from regard.inspect.drawings.graph_svg import draw_graph
from regard.inspect.drawings.input_attention import InputAttention
from regard.inspect.layout import Block, color_scale
from regard.inspect.terminal.ink import fit, in_lines
from regard.inspect.writing import shorten, visible
from regard.parts import register
from regard.trace import SeenGraph, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink

MOST_WORDS = 4
"""Maximum number of output pieces that are named at a node."""


@register("drawing", "graph")
@dataclass(frozen=True, eq=False, kw_only=True)
class GraphAttention(InputAttention):
    """The S nodes of a graph, its edges, and the weights (T, S) of each output piece."""

    rank: ClassVar[int] = 98
    traced = SeenGraph

    nodes: tuple[str, ...]
    edges: tuple[tuple[int, int, str], ...]

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> GraphAttention:
        what: Any = trace.seen[name]
        return cls(nodes=tuple(trace.input[name]), edges=what.edges, **cls.weighted(trace, name, view))

    @classmethod
    def shows(cls, trace: Trace, name: str) -> bool:
        """If the nodes were attended to, not the words of their labels."""
        looks = trace.attention.get(name)
        nodes = len(trace.input[name])
        return super().shows(trace, name) and (looks is None or looks.shape[-1] == nodes)

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        """The attention of each of several pieces is also drawn as a matrix."""
        return ("attention", "structures") if trace.single else ("structures",)

    def looked_at(self, node: int) -> float:
        """Between 0 and 1: the largest weight of a node."""
        return min(1.0, max(0.0, float(np.nan_to_num(self.weights[:, node]).max(initial=0.0))))

    def is_true(self, node: int) -> bool:
        """Whether a piece should attend to the node."""
        return any(bool(self.true(word)[node]) for word in range(len(self.words)))

    def lookers(self, node: int) -> str:
        """The output pieces whose most attended node this is."""
        found = [visible(word) for place, word in enumerate(self.words) if self.best(place) == node]
        return " ".join(found[:MOST_WORDS]) + (" …" if len(found) > MOST_WORDS else "")

    def block(self) -> Block:
        return draw_graph(self)

    @classmethod
    def legend(cls, shown: Sequence[GraphAttention]) -> list[Block]:
        attended = [one for one in shown if one.words]
        known = any(one.known for one in attended)
        name = (
            "weight of a node" if all(len(one.words) == 1 for one in attended) else "largest weight of a node"
        )
        return [color_scale(name=name, truth=known, outlined="true node")] if attended else []

    def terminal(self, width: int, ink: Ink) -> Iterator[Line]:
        return _lines(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[GraphAttention], width: int, ink: Ink) -> Iterator[Line]:
        if any(one.words for one in shown):
            told = ["numbers: largest weight of a node"]
            told += ["▸ true node"] * any(one.known for one in shown)
            yield from in_lines([Line(one, style=ink.style("muted")) for one in told], width)

    def description(self) -> str:
        """The most attended node of each piece, in words."""
        size = f"A graph of {len(self.nodes)} nodes and {len(self.edges)} edges."
        found = [
            f"{visible(word)}: {visible(self.nodes[self.best(place)])} ({self.weights[place, self.best(place)]:.2f})"
            for place, word in enumerate(self.words)
        ]
        return f"{size} Most attended: {'; '.join(found)}." if found else size


def _lines(shown: GraphAttention, width: int, ink: Ink) -> Iterator[Line]:
    """A line for each node: its weight, its label, and its edges."""
    if shown.title:
        yield Line(shorten(shown.title, width), style=ink.style("ink", bold=True))
    left = 5 if shown.words else 0
    wide = min(max((len(visible(node)) for node in shown.nodes), default=0), max(4, (width - left) // 3))
    for place, node in enumerate(shown.nodes):
        line = Line(no_wrap=True, overflow="crop")
        if shown.words:
            weight = shown.looked_at(place)
            written = (
                "1.0" if weight >= 0.995 else f"{weight:.2f}".removeprefix("0") if weight >= 0.005 else ""
            )
            line.append(fit(written, 3, "right"), style=ink.on(weight))
            line.append("▸ " if shown.is_true(place) else "  ", style=ink.style("truth", bold=True))
        line.append(fit(visible(node), wide), style=ink.style("ink", bold=True))
        to = [
            f"-{visible(relation)}-> {visible(shown.nodes[target])}"
            for source, target, relation in shown.edges
            if source == place
        ]
        room = max(1, width - left - wide - 2)
        line.append("  ").append(shorten(", ".join(to), room), style=ink.style("muted"))
        yield line
