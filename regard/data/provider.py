"""Data without files: worlds generate their rows, packages hold them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from regard.data.readers.row import Row
from regard.parts import Options

Splits = dict[str, list[Row]]
"""train, dev, test, and whatever else there is to test on ("long"), each with its rows."""
Seed = Annotated[int, Field(ge=0)]
RowCount = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Provider(Options):
    """Rows in splits, determined by the options alone.

    fields   of the rows
    """

    model_config = ConfigDict(strict=True)

    fields: ClassVar[tuple[str, ...]]

    @abstractmethod
    def splits(self) -> Splits:
        """The same rows every time."""


def numbered(name: str, split: str, rows: Iterable[Mapping[str, str]]) -> list[Row]:
    """Rows with their places: "translation:train:17"."""
    return [Row(row, file=f"{name}:{split}", line=line) for line, row in enumerate(rows, start=1)]
