"""What a graph of a model is made of: vertices, arrows, the insides of cells, and the parts they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from regard.describe.notation import Equation, Range, Symbol
from regard.describe.weights import LetteredWeight

Kind = Literal["input", "computed", "latent", "output", "box"]


@dataclass
class Vertex:
    """Something that is computed.

    key       its own name in the graph
    part      whose it is: "encoder source"
    symbol    what it is called on the board, and `name` in words
    lines     its equations
    latent    for a distribution over where to look: how its random variable is written
    weights   {parameter: how many numbers of it are counted here}; a parameter is counted once in a graph
    slopes    {column: how many numbers more it has for each unit of a vocabulary that is not known yet}
    held      what it is computed with, counted here or elsewhere
    group     the weights it has, by number: units with a weight in common have one group; None without weights
    indices   what its symbol goes over
    shapes    {a symbol it defines: its size, "S × 128"}
    """

    key: str
    part: str
    symbol: str
    name: str = ""
    lines: list[str] = field(default_factory=list)
    kind: Kind = "computed"
    latent: str = ""
    weights: dict[str, int] = field(default_factory=dict)
    slopes: dict[str, int] = field(default_factory=dict)
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
    """What one unit takes from another.

    symbol   what is taken
    shift    −1 from the step before, 1 from the step behind, 0 from the same; None where it is no step's
    at       the step it is taken from where that is a certain one ("S", "1"), "all" for every one
    start    the first value of what the target computes step by step
    index    the one that is shifted
    """

    source: str
    target: str
    symbol: str = ""
    shift: int | None = 0
    at: str = ""
    start: bool = False
    index: str = ""

    @property
    def delayed(self) -> bool:
        return bool(self.shift)


@dataclass
class Inside:
    """A cell's function, or another that the board defines, with the units inside it."""

    name: str
    text: str
    units: list[Vertex]
    arrows: list[Arrow]
    size: int = 0
    group: int | None = None


@dataclass
class GraphPart:
    """An encoder or a decoder: its title, its options in words, and its index of steps."""

    key: str
    title: str
    options: str
    ranges: dict[str, Range] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    units: list[Vertex] = field(default_factory=list)
    insides: list[Inside] = field(default_factory=list)
    count: int = 0


@dataclass
class Graph:
    """All parts, and the arrows between and inside them.

    total          how many parameters the network has
    vocabularies   {column: units of the vocabulary it was built with}, where the data will tell how many there are
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
    """In the order of computation, otherwise as on the board; where there is a ring, as on the board."""
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
