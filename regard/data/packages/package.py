"""A package: data that come with an installable Python package."""

from __future__ import annotations

from typing import Any

from regard.data.choice import choose
from regard.data.provider import Provider, RowCount, Seed


class Package(Provider):
    """Its options determine the splits. Registered with `@register("package", NAME)`."""

    seed: Seed = 1
    """Determines the splits."""
    train: RowCount | None = None
    """Number of entries; default: all the others."""


def package(name: str, **options: Any) -> Package:
    """The data package of that name: package("cldr", locale="ru").splits()["train"]."""
    made: Package = choose("package", name, options)
    return made
