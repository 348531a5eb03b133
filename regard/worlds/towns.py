"""The towns world: towns joined by roads of several colors, and where a route ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from regard.data.provider import RowCount, Splits, numbered
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.world import SplitWorld

NAMES = ("Asten", "Borne", "Calla", "Dorum", "Elten", "Forst", "Gerol", "Hulst")
COLORS = ("red", "green", "blue")
KEPT = 0.6
"""Share of the possible roads that exist."""
Roads = dict[tuple[int, str], int]
"""The town to which the road of a color leads from a town."""


@register("world", "towns")
class TownsWorld(SplitWorld):
    """One-way roads between towns, at most one of each color from a town and to a town, and a route: a town and the
    colors of the roads to take. The answer is the town at its end.

    Asten -red-> Borne; Borne -blue-> Calla; Calla -red-> Asten, "Asten red blue" → Calla

    `alignment` is the place of that town among the nodes, which are in random order.
    """

    train: RowCount = 16_000
    """Number of rows."""
    dev: RowCount = 300
    """Rows of the split `dev`."""
    test: RowCount = 1_000
    """Rows of the split `test`."""
    fewest: Annotated[int, Field(ge=3, le=len(NAMES))] = 4
    """Minimum number of towns."""
    most: Annotated[int, Field(ge=3, le=len(NAMES))] = 7
    """Maximum number of towns."""
    steps: Annotated[int, Field(ge=1, le=6)] = 2
    """Maximum number of roads of a route."""

    fields: ClassVar[tuple[str, ...]] = ("map", "route", "town", "alignment", "length")

    @model_validator(mode="after")
    def _towns(self) -> Self:
        if self.fewest > self.most:
            raise RegardError(f"fewest is {self.fewest} and most is {self.most}, expected fewest ≤ most.")
        return self

    def splits(self) -> Splits:
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        return {
            split: numbered(self.type, split, self._rows(Random(f"{self.seed} {split}"), size))
            for split, size in sizes.items()
        }

    def _rows(self, generator: Random, size: int) -> Iterator[dict[str, str]]:
        for _ in range(size):
            towns = generator.sample(NAMES, generator.randint(self.fewest, self.most))
            length = generator.randint(1, self.steps)
            while True:
                roads = drawn(generator, len(towns))
                starts = [town for town in range(len(towns)) if _ways(roads, town)]
                first = generator.choice(starts) if starts else None
                route = None if first is None else _route(generator, roads, first, length)
                if first is not None and route is not None:
                    break
            colors, end = route
            edges = [[town, other, color] for (town, color), other in roads.items()]
            generator.shuffle(edges)
            yield {
                "map": json.dumps({"nodes": towns, "edges": edges}),
                "route": " ".join([towns[first], *colors]),
                "town": towns[end],
                "alignment": f"{end}-0",
                "length": str(length),
            }


def drawn(generator: Random, towns: int) -> Roads:
    """Random roads: of each color, at most one from a town and at most one to it."""
    roads: Roads = {}
    for color in COLORS:
        order = list(range(towns))
        while any(town == other for town, other in enumerate(order)):
            generator.shuffle(order)
        for town, other in enumerate(order):
            if generator.random() < KEPT:
                roads[town, color] = other
    return roads


def _ways(roads: Roads, town: int) -> list[str]:
    return [color for color in COLORS if (town, color) in roads]


def _route(generator: Random, roads: Roads, first: int, length: int) -> tuple[list[str], int] | None:
    """Colors of roads to take, and the town where they lead; None if a road ends where none begins."""
    here, colors = first, list[str]()
    for _ in range(length):
        if not _ways(roads, here):
            return None
        colors.append(generator.choice(_ways(roads, here)))
        here = roads[here, colors[-1]]
    return colors, here
