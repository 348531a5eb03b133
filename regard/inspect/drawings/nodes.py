"""A tree over words: every node with its label or attention weight, the words at the leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text

from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View
from regard.inspect.drawings.nodes_svg import draw_nodes, node_legend
from regard.inspect.drawings.nodes_terminal import draw_nodes as terminal_nodes
from regard.inspect.drawings.nodes_terminal import node_notes
from regard.inspect.layout import WIDEST, Block, below, flowing
from regard.inspect.writing import visible
from regard.parts import register
from regard.trace import Nodes, Trace, Traced

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink


@register("drawing", "nodes")
@dataclass(frozen=True, eq=False)
class NodeDiagram(TracedDrawing):
    """A tree over words: `phrases` holds the text of each node, which is the word for a leaf."""

    rank: ClassVar[int] = 70
    traced: ClassVar[type[Traced] | None] = Nodes
    lacking: ClassVar[str] = "has no tree over"
    links: ClassVar[bool] = True

    phrases: tuple[str, ...]
    nodes: Nodes
    title: str = ""
    over: str = ""

    @cached_property
    def children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.phrases]
        for place, parent in enumerate(self.nodes.parents.tolist()):
            if parent >= 0:
                found[parent].append(place)
        return found

    @cached_property
    def depths(self) -> list[int]:
        """The depth of each node: its distance from the root."""
        found = [0] * len(self.phrases)
        for place in reversed(range(len(found))):
            parent = int(self.nodes.parents[place])
            found[place] = found[parent] + 1 if parent >= 0 else 0
        return found

    @property
    def words(self) -> tuple[str, ...]:
        return self.phrases

    @property
    def leaves(self) -> list[int]:
        """The indices of the leaves, from left to right."""
        return [place for place, below in enumerate(self.children) if not below]

    @property
    def sentence(self) -> list[str]:
        return [self.phrases[place] for place in self.leaves]

    @property
    def limit(self) -> float:
        """The weight with the full shade."""
        weights = self.nodes.weights
        return 1.0 if weights is None or not len(weights) else float(weights.max()) or 1.0

    def share(self, place: int) -> float:
        weights = self.nodes.weights
        return 0.0 if weights is None else min(1.0, max(0.0, float(weights[place]) / self.limit))

    def wrong(self, place: int) -> bool:
        """Whether the predicted label differs from the true one."""
        known = self.nodes.true_labels[place] if self.nodes.true_labels else ""
        return bool(known and self.nodes.labels and known != self.nodes.labels[place])

    def note(self, place: int) -> str:
        """The text in a node: its label, `2≠3` if it is wrong, or its weight."""
        if self.nodes.labels:
            found = visible(self.nodes.labels[place])
            return f"{found}≠{visible(self.nodes.true_labels[place])}" if self.wrong(place) else found
        weights = self.nodes.weights
        return "" if weights is None else f"{float(weights[place]):.2f}".removeprefix("0")

    def told(self, place: int) -> str:
        """A node in words."""
        found = [f"label {self.nodes.labels[place]}"] if self.nodes.labels else []
        found += [f"true label {self.nodes.true_labels[place]}"] if self.wrong(place) else []
        found += [] if self.nodes.weights is None else [f"weight {float(self.nodes.weights[place]):.3f}"]
        return ", ".join(found)

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> NodeDiagram:
        found: Any = trace.structures[name]
        return cls(tuple(trace.input[name]), found, title=view.title, over=name)

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        found: Any = trace.structures[name]
        return () if found.weights is None else ("attention",)

    def block(self) -> Block:
        return draw_nodes(self)

    @classmethod
    def legend(cls, shown: Sequence[NodeDiagram]) -> list[Block]:
        return node_legend(shown)

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return terminal_nodes(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[NodeDiagram], width: int, ink: Ink) -> Iterator[Text]:
        return node_notes(shown, width, ink)

    @classmethod
    def arranged(cls, shown: Sequence[NodeDiagram], across: int | None) -> Block:
        """Trees one after the other; if labels are known, each shows its errors."""
        trees = flowing([diagram.block() for diagram in shown], widest=WIDEST)
        return below([trees, *cls.legend(shown)], gap=20)

    def description(self) -> str:
        """The tree in words, for readers who cannot see it."""
        count = len(self.leaves)
        told = (
            f"A tree of {len(self.words)} nodes over {count} words: {' '.join(map(visible, self.sentence))}."
        )
        if self.nodes.labels:
            told += f" The root is labeled {self.nodes.labels[-1]}."
            known = [place for place, label in enumerate(self.nodes.true_labels) if label]
            if known:
                right = sum(not self.wrong(place) for place in known)
                told += f" {right} of {len(known)} labels are right."
        if self.nodes.weights is not None and len(self.words):
            most = int(self.nodes.weights.argmax())
            told += f" Most attended: “{visible(self.phrases[most])}” ({self.nodes.weights[most]:.2f})."
        return told
