"""The elements of a model's graph: vertices, arrows, the insides of cells, and the parts they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from regard.describe.weights import LetteredWeight
from regard.model.count_formula import CountFormula
from regard.notation import Equation, Range, Symbol

Kind = Literal["input", "computed", "latent", "output", "box"]


@dataclass
class Vertex:
    """A computed value.

    key       its unique name in the graph
    part      the part it belongs to: "encoder source"
    symbol    its symbol on the board; `name` is its name in words
    lines     its equations
    latent    for a distribution over positions: the name of its random variable
    weights   {parameter: its numbers counted here}; each parameter is counted once in a graph
    formula   their number as a formula of vocabularies that are not yet known
    held      its weights, whether counted here or elsewhere
    group     number of its group; units that share a weight are in one group; None without weights
    indices   the indices of its symbol
    shapes    {symbol it defines: its shape, "S × 128"}
    """

    key: str
    part: str
    symbol: str
    name: str = ""
    lines: list[str] = field(default_factory=list)
    kind: Kind = "computed"
    latent: str = ""
    weights: dict[str, int] = field(default_factory=dict)
    formula: CountFormula = field(default_factory=CountFormula)
    held: list[LetteredWeight] = field(default_factory=list)
    group: int | None = None
    indices: tuple[str, ...] = ()
    shapes: dict[str, str] = field(default_factory=dict)
    equations: list[Equation] = field(default_factory=list)
    target: Symbol | None = None

    @property
    def count(self) -> int:
        return sum(self.weights.values())

    @property
    def shared(self) -> bool:
        """Whether some of its weights are counted elsewhere."""
        return any(one.name not in self.weights for one in self.held)


@dataclass(frozen=True)
class Arrow:
    """A dependency of one unit on another.

    symbol   the symbol that is used
    shift    −1 for the previous step, 1 for the next, 0 for the same; None if it does not belong to a step
    at       the step it is taken from, if fixed ("S", "1"), or "all"
    start    whether it is the initial value of a recurrence
    index    the shifted index
    reach    how many steps it goes back: 3 for y_{t−1}, y_{t−2} and y_{t−3} together
    """

    source: str
    target: str
    symbol: str = ""
    shift: int | None = 0
    at: str = ""
    start: bool = False
    index: str = ""
    reach: int = 1

    @property
    def delayed(self) -> bool:
        return bool(self.shift)


@dataclass
class Inside:
    """The function of a cell, or another one defined on the board, with its units."""

    name: str
    text: str
    units: list[Vertex]
    arrows: list[Arrow]
    size: int = 0
    group: int | None = None


@dataclass
class GraphPart:
    """An encoder or a decoder: its title, its options in words, and its index of steps.

    fixed   the indices on which its weights depend
    """

    key: str
    title: str
    options: str
    ranges: dict[str, Range] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    units: list[Vertex] = field(default_factory=list)
    insides: list[Inside] = field(default_factory=list)
    count: int = 0
    fixed: frozenset[str] = frozenset()


@dataclass
class Graph:
    """All parts, and the arrows between and within them.

    total          number of parameters of the network
    vocabularies   {column: size of the vocabulary it was built with}, if the data will determine the size
    """

    title: str
    parts: list[GraphPart]
    arrows: list[Arrow]
    total: int
    vocabularies: dict[str, int]

    def units(self) -> Iterator[Vertex]:
        for part in self.parts:
            yield from part.units

    def unit(self, key: str) -> Vertex:
        return next(one for one in self.units() if one.key == key)


def in_order(units: Sequence[Vertex], arrows: Iterable[Arrow]) -> list[Vertex]:
    """The units in the order of computation, otherwise as on the board; in a cycle, as on the board."""
    keys = {unit.key for unit in units}
    before: dict[str, set[str]] = {unit.key: set() for unit in units}
    for arrow in arrows:
        if (
            arrow.source in keys
            and arrow.target in keys
            and not arrow.delayed
            and arrow.source != arrow.target
        ):
            before[arrow.target].add(arrow.source)
    found: list[Vertex] = []
    waiting = list(units)
    done: set[str] = set()
    while waiting:
        ready = next((unit for unit in waiting if before[unit.key] <= done), waiting[0])
        waiting.remove(ready)
        done.add(ready.key)
        found.append(ready)
    return found
