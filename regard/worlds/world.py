"""A world: rows made by a program, so that everything about them is known."""

from __future__ import annotations

from typing import Any

from regard.data.choice import choose
from regard.data.provider import Provider, Seed


class World(Provider):
    """Its options (sizes, seed) determine every row. Registered with `@register("world", NAME)`."""

    seed: Seed = 1
    """Determines everything."""


def world(name: str, **options: Any) -> World:
    """The world of that name: world("translation", seed=2, train=5000).splits()["train"]."""
    made: World = choose("world", name, options)
    return made
