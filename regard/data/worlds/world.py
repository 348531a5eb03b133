"""A world: rows made by a program, so that everything about them is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Protocol

from regard.data.readers.row import Row

Splits = dict[str, list[Row]]
"""train, dev, test, and whatever else there is to test on ("long"), each with its rows."""


class World(Protocol):
    """Made with its options (sizes, seed), which are all there is to know."""

    name: ClassVar[str]
    fields: ClassVar[tuple[str, ...]]

    def splits(self) -> Splits:
        """The same rows every time."""
        ...


def numbered(name: str, split: str, rows: Iterable[Mapping[str, str]]) -> list[Row]:
    """Rows with their places: "translation:train:17"."""
    return [Row(row, file=f"{name}:{split}", line=line) for line, row in enumerate(rows, start=1)]
