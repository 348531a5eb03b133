"""A package: data that come with an installable Python package."""

from __future__ import annotations

from typing import Any

from regard.data.provider import Provider, RowCount
from regard.parts import Seed, choose
from regard.parts.contract import base


@base("package")
class Package(Provider):
    """Base class of data packages. The options determine the splits. Register one with `@register("package", NAME)`."""

    seed: Seed = 1
    """Random seed that determines the splits."""
    train: RowCount | None = None
    """Number of training entries; default: all that are not in dev or test."""


def package(name: str, **options: Any) -> Package:
    """The data package with this name: package("cldr", locale="ru").splits()["train"]."""
    made: Package = choose("package", name, options)
    return made
