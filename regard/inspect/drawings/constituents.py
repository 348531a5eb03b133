"""A constituency tree over words: every node with its label, shaded by its probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text

from regard.inspect.drawings.drawing import PLAIN, View
from regard.inspect.drawings.nodes import NodeDiagram
from regard.inspect.drawings.nodes_svg import node_legend
from regard.inspect.layout import Block, color_scale
from regard.inspect.writing import shorten, visible
from regard.parts import register
from regard.trace import Constituents, Nodes, Trace, Traced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from regard.inspect.terminal.ink import Ink

ABSENT = "∅"
"""Written as the true label of a span that is no constituent of the true tree."""


@register("drawing", "constituents")
@dataclass(frozen=True, eq=False)
class ConstituentDiagram(NodeDiagram):
    """A constituency tree, drawn as a tree of nodes whose weights are probabilities.

    missed   the true constituents that the tree lacks, as text
    """

    rank: ClassVar[int] = 71
    traced: ClassVar[type[Traced] | None] = Constituents
    lacking: ClassVar[str] = "has no constituents over"
    links: ClassVar[bool] = False

    missed: tuple[str, ...] = ()
    truth: ConstituentDiagram | None = None

    @property
    def limit(self) -> float:
        return 1.0

    def told(self, place: int) -> str:
        label = self.nodes.labels[place]
        found = [f"label {label}"] if label else []
        found += [f"true label {self.nodes.true_labels[place]}"] if self.wrong(place) else []
        if self.nodes.weights is not None:
            found.append(f"probability {float(self.nodes.weights[place]):.3f}")
        return ", ".join(found)

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> ConstituentDiagram:
        found: Any = trace.structures[name]
        words = tuple(trace.input[name])
        if found.true_spans is None:
            return replace(
                cls._tree(words, found.spans, found.labels, (), found.probabilities), title=view.title
            )
        true = _named(found.true_spans, found.true_labels)
        spans = _named(found.spans, found.labels)
        known = [_true_label(one, true) for one in spans]
        missed = tuple(
            f"{label} {' '.join(words[first : last + 1])}"
            for first, last, label, _ in true
            if label and (first, last, label) not in {one[:3] for one in spans}
        )
        made = cls._tree(words, found.spans, found.labels, known, found.probabilities)
        truth = cls._tree(words, found.true_spans, found.true_labels, (), None)
        return replace(made, title=view.title, missed=missed, truth=truth)

    @classmethod
    def _tree(
        cls,
        words: tuple[str, ...],
        spans: NDArray[Any],
        labels: Sequence[str],
        true_labels: Sequence[str],
        probabilities: Any,
    ) -> ConstituentDiagram:
        phrases = tuple(" ".join(words[first : last + 1]) for first, last in spans.tolist())
        nodes = Nodes(_parents(spans.tolist()), labels, true_labels, probabilities)
        return cls(phrases, nodes)

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        return ()

    def truth_panel(self) -> ConstituentDiagram | None:
        return self.truth

    @classmethod
    def legend(cls, shown: Sequence[NodeDiagram]) -> list[Block]:
        shaded = any(diagram.nodes.weights is not None for diagram in shown)
        plain = [replace(one, nodes=replace(one.nodes, weights=None)) for one in shown]
        return [*([color_scale(name="probability", limit=1.0)] if shaded else []), *node_legend(plain)]

    @classmethod
    def terminal_legend(cls, shown: Sequence[NodeDiagram], width: int, ink: Ink) -> Iterator[Text]:
        if any(diagram.wrong(place) for diagram in shown for place in range(len(diagram.words))):
            text = f"NP≠VP: found NP, true VP   NP≠{ABSENT}: no true constituent"
            yield Text(shorten(text, width), style=ink.style("muted"))

    def description(self) -> str:
        """The tree in words, for readers who cannot see it."""
        count = sum(bool(label) for label in self.nodes.labels)
        told = (
            f"A tree of {count} constituents over {len(self.leaves)} words: "
            f"{' '.join(map(visible, self.sentence))}."
        )
        if self.truth is not None:
            wrong = sum(self.wrong(place) for place in range(len(self.words)))
            told += f" {wrong} differ from the true tree, which has {len(self.missed)} others."
        return told


def _parents(spans: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The place of the parent of each span: the next one that contains it; −1 for the last."""
    found = []
    for place, (first, last) in enumerate(spans):
        above = range(place + 1, len(spans))
        found.append(next((one for one in above if spans[one][0] <= first and last <= spans[one][1]), -1))
    return np.array(found, dtype=np.int64)


def _named(spans: Any, labels: Sequence[str]) -> list[tuple[int, int, str, int]]:
    """First and last token, label, and the number of nodes over the same tokens that come before."""
    seen: dict[tuple[int, int], int] = {}
    found = []
    for (first, last), label in zip(spans.tolist(), labels, strict=True):
        level = seen[first, last] = seen.get((first, last), -1) + 1
        found.append((first, last, label, level))
    return found


def _true_label(one: tuple[int, int, str, int], true: Sequence[tuple[int, int, str, int]]) -> str:
    """The true label of a node: its own if it is among those of its span; empty for a node without a label."""
    first, last, label, level = one
    there = {known[3]: known[2] for known in true if known[:2] == (first, last)}
    if not label or label in there.values():
        return label
    return there.get(level) or ABSENT
