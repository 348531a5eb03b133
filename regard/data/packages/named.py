"""Packages by name."""

from __future__ import annotations

from typing import Any

from regard.data.choice import choose
from regard.data.packages.cldr import CldrPackage
from regard.data.packages.cmudict import CmudictPackage
from regard.data.worlds.world import World

PACKAGES: dict[str, type[World]] = {made.name: made for made in (CmudictPackage, CldrPackage)}


def package(name: str, **options: Any) -> World:
    """The data package of that name: package("cldr", locale="ru").splits()["train"]."""
    return choose("package", PACKAGES, name, options)
