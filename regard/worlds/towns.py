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

NAMES = ("Asten", "Borne", "Calla", "Dorum", "Elten", "Forst", "Gerol", "Hulst", "Ipsen", "Jarum", "Kolin",
         "Lund")  # fmt: skip
COLORS = ("red", "green", "blue")


@register("world", "towns")
class TownsWorld(SplitWorld):
    """One-way roads between towns, at most one of each color from a town, and a route: a town and the colors of the
    roads to take. The answer is the town at its end, the only one in which such a route ends.

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
            roads = {
                (town, color): generator.choice([other for other in range(len(towns)) if other != town])
                for town in range(len(towns))
                for color in generator.sample(COLORS, 2)
            }
            route, end = _route(generator, roads, len(towns), generator.randint(1, self.steps))
            edges = [[town, other, color] for (town, color), other in roads.items()]
            generator.shuffle(edges)
            yield {
                "map": json.dumps({"nodes": towns, "edges": edges}),
                "route": " ".join([towns[route[0]], *route[1]]),
                "town": towns[end],
                "alignment": f"{end}-0",
                "length": str(len(route[1])),
            }


def _route(
    generator: Random, roads: dict[tuple[int, str], int], towns: int, length: int
) -> tuple[tuple[int, list[str]], int]:
    """A first town and colors, and the town where they lead."""
    here = first = generator.randrange(towns)
    colors: list[str] = []
    for _ in range(length):
        color = generator.choice([color for town, color in roads if town == here])
        colors.append(color)
        here = roads[here, color]
    return (first, colors), here
