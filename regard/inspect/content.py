"""The content of a group of marks as data, to redraw it in a terminal or to read it aloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from regard.inspect.document_words import DocumentWords
from regard.inspect.sights import Sight
from regard.inspect.writing import runs_right_to_left, visible
from regard.trace import Arcs, Array, Hops, Nodes, Segments

FEW = 5
"""Number of items below which a value is faded."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """A number for every pair of a row and a column.

    values   (R, C); `limit` is the value with the full shade
    shades   (R, C) between 0 and 1, if the shade is not values / limit
    truth    (R, C) or None; cells above zero are outlined in the color `outline`, explained as `outlined` in the legend
    margin   (R,) or None: a number between 0 and 1 beside each row, named `margin_name`
    numbers  whether to print the values in the cells; None: only if there is room and they matter
    digits   format of a value ("{:.2f}")
    counts   (R, C) or None: the number of items behind each value; a value of few items is faded
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    truth: Array | None = None
    margin: Array | None = None
    margin_name: str = "p"
    title: str = ""
    row_name: str = ""
    column_name: str = ""
    limit: float = 1.0
    numbers: bool | None = None
    digits: str = "{:.2f}"
    shades: Array | None = None
    outlined: str = "true position"
    outline: str = "truth"
    counts: Array | None = None

    def is_weak(self, row: int, column: int) -> bool:
        """Whether a value comes from so few items that it means little."""
        return self.counts is not None and bool(self.counts[row, column] < FEW)

    @property
    def mirrored(self) -> bool:
        """Whether the first column is on the right, because the columns are in a right-to-left script."""
        return runs_right_to_left(self.columns)

    @property
    def order(self) -> list[int]:
        """The columns from left to right."""
        places = list(range(len(self.columns)))
        return places[::-1] if self.mirrored else places

    def share(self, row: int, column: int) -> float:
        """The shade of a cell, between 0 and 1: its value as a share of the limit, or its own shade."""
        if self.shades is not None:
            return float(self.shades[row, column])
        value = float(self.values[row, column])
        return 0.0 if np.isnan(value) or self.limit <= 0 else min(1.0, max(0.0, value / self.limit))

    def is_true(self, row: int, column: int) -> bool:
        return self.truth is not None and bool(self.truth[row, column] > 0)

    def is_zero(self, row: int, column: int) -> bool:
        """Whether a weight is exactly 0. Such cells stay empty, to differ from the faintest shade."""
        return self.shades is None and bool(self.values[row, column] == 0)

    @property
    def has_zeros(self) -> bool:
        return self.shades is None and bool((self.values == 0).any())

    def tip(self, row: int, column: int) -> str:
        """A cell in words. A weight that would round to 0 keeps its first digit; an exact 0 is a plain 0."""
        value = float(self.values[row, column])
        number = self.digits.format(value)
        if self.is_zero(row, column):
            number = "0"
        elif value and number == self.digits.format(0.0):
            number = f"{value:.1g}"
        told = f"{visible(self.rows[row])} ← {visible(self.columns[column])}  {number}"
        return f"{told}\n{self.outlined}" if self.is_true(row, column) else told


@dataclass(frozen=True, eq=False)
class HeadPanels:
    """The heads of one layer: a matrix per head, all with the same rows and columns."""

    matrices: tuple[Matrix, ...]
    title: str = ""


@dataclass(frozen=True, eq=False)
class WeightedWords:
    """Text whose words have weights, and optionally a note each (a tag, a probability).

    bars   show the weight as a bar below the word, not as a shade: for probabilities, most of which are large, so that
           high ones do not stand out
    """

    words: tuple[str, ...]
    weights: Array  # (S,)
    limit: float = 1.0
    notes: tuple[str, ...] = ()
    title: str = ""
    bars: bool = False

    def share(self, place: int) -> float:
        value = float(self.weights[place])
        return 0.0 if np.isnan(value) or self.limit <= 0 else min(1.0, max(0.0, value / self.limit))


@dataclass(frozen=True, eq=False)
class Chart:
    """Values of several series over the same categories, or over numbers along an axis.

    series      name → values, NaN if missing
    counts      number of items in each category, or empty
    intervals   name → (places, 2), the bounds of each value; or empty
    log         whether the vertical axis is logarithmic
    """

    style: Literal["bars", "lines"]
    places: tuple[str, ...] | tuple[float, ...]
    series: Mapping[str, Array]
    counts: tuple[int, ...] = ()
    title: str = ""
    x_name: str = ""
    y_name: str = ""
    digits: str = "{:.1f}"
    intervals: Mapping[str, Array] = field(default_factory=dict)
    log: bool = False

    def is_weak(self, place: int) -> bool:
        """Whether a category has so few items that its value means little."""
        return bool(self.counts) and self.counts[place] < FEW

    @property
    def has_weak(self) -> bool:
        return any(map(self.is_weak, range(len(self.counts))))


@dataclass(frozen=True, eq=False)
class Links:
    """Two lines of words and the weight of the link between each pair: weights (T, S), targets by sources."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    weights: Array
    truth: Array | None = None
    threshold: float = 0.1
    title: str = ""


@dataclass(frozen=True)
class Ranking:
    """Texts with a score and a share (0 to 1) each, best first; `chosen` is the index of the selected one."""

    texts: tuple[str, ...]
    scores: tuple[float, ...]
    shares: tuple[float, ...]
    chosen: int | None = 0
    title: str = ""
    score_name: str = "score"
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class ArcDiagram:
    """A sentence with an arc from the head of each word to the word.

    threshold   minimum marginal of arcs that are shown outside the best tree
    """

    words: tuple[str, ...]
    arcs: Arcs
    title: str = ""
    threshold: float = 0.15


@dataclass(frozen=True, eq=False)
class SegmentBands:
    """Below a line of source pieces, a band per target, shaded by p(inside), with its segments marked.

    limit   the weight with the full shade
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    segments: Segments
    title: str = ""
    limit: float = 1.0

    @property
    def order(self) -> list[int]:
        """The sources from left to right."""
        places = list(range(len(self.sources)))
        return places[::-1] if runs_right_to_left(self.sources) else places

    def share(self, target: int, source: int) -> float:
        value = float(self.segments.weights[target, source])
        return 0.0 if np.isnan(value) or self.limit <= 0 else min(1.0, max(0.0, value / self.limit))


@dataclass(frozen=True, eq=False)
class Conversation:
    """A dialog: speakers and utterances, the weights of each attention step on the turns, and the response.

    weights   (looks, turns), with the names of the looks in `names`
    truth     the turns that should have been attended to
    """

    turns: tuple[tuple[str, str], ...]
    weights: Array
    names: tuple[str, ...]
    truth: frozenset[int] = frozenset()
    answer: str = ""
    title: str = ""

    MOST: ClassVar[int] = 24
    """Maximum number of turns shown."""

    def share(self, place: int) -> float:
        """The shade of a turn: its largest weight."""
        return min(1.0, max(0.0, float(self.weights[:, place].max(initial=0.0))))

    def is_answered(self, place: int) -> bool:
        """Whether the turn is by the speaker who is answered, who spoke last."""
        return self.turns[place][0] == self.turns[-1][0]

    @cached_property
    def parts(self) -> tuple[int | range, ...]:
        """The turns that are shown, and the ranges of those that are not."""
        count = len(self.turns)
        if count <= self.MOST:
            return tuple(range(count))
        kept = {0, *range(count - 4, count), *sorted(self.truth)[: self.MOST // 2]}
        for place in sorted(range(count), key=lambda place: -self.share(place)):
            if len(kept) >= self.MOST or self.share(place) < 0.01:
                break
            kept.add(place)
        found: list[int | range] = []
        for place in range(count):
            if place in kept:
                found.append(place)
            elif found and isinstance(found[-1], range):
                found[-1] = range(found[-1].start, place + 1)
            else:
                found.append(range(place, place + 1))
        return tuple(one if isinstance(one, int) or len(one) > 1 else one.start for one in found)


@dataclass(frozen=True, eq=False)
class HopTable:
    """Positions (sentences of a story) as rows, hops as columns, with the weights of each hop."""

    positions: tuple[str, ...]
    hops: Hops
    title: str = ""

    def is_best(self, position: int, hop: int) -> bool:
        return self.hops.best is not None and int(self.hops.best[hop]) == position

    def reads(self, hop: int) -> bool:
        """Whether a hop has any weight; a structured selection may stop before its last hop."""
        return bool((self.hops.weights[hop] > 0).any())

    def true_order(self, position: int) -> list[int]:
        """The ranks of this position among the true facts, from 1; may be none or several."""
        truth = () if self.hops.truth is None else self.hops.truth
        return [place + 1 for place, true in enumerate(truth) if int(true) == position]

    def is_true(self, position: int, hop: int) -> bool:
        """Whether this hop should have read the position; if hops and facts differ in number, whether it is any true
        fact."""
        orders = self.true_order(position)
        if self.hops.truth is not None and len(self.hops.truth) == len(self.hops.weights):
            return hop + 1 in orders
        return bool(orders) and self.is_best(position, hop)


@dataclass(frozen=True, eq=False)
class HeadPaths:
    """Paths in the plane by name: (S, 2), the points of each in order.

    strengths   name → (S,) between 0 and 1, the weight of each point
    """

    paths: Mapping[str, Array]
    strengths: Mapping[str, Array]
    title: str = ""


@dataclass(frozen=True)
class Lines:
    """Text between drawings: each line with the role of its color; the first `bold` lines are bold."""

    lines: tuple[tuple[str, str], ...]
    bold: int = 1


@dataclass(frozen=True, eq=False)
class NodeDiagram:
    """A tree over words: `phrases` holds the text of each node, which is the word for a leaf."""

    phrases: tuple[str, ...]
    nodes: Nodes
    title: str = ""

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


Content = (
    Matrix
    | HeadPanels
    | WeightedWords
    | Chart
    | Links
    | Ranking
    | ArcDiagram
    | SegmentBands
    | HopTable
    | Conversation
    | NodeDiagram
    | HeadPaths
    | DocumentWords
    | Sight
    | Lines
)
