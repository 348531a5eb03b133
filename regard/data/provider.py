"""Data without files: worlds generate rows, packages contain them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from regard.data.readers.row import Row
from regard.parts import Options
from regard.parts.contract import required

Splits = dict[str, list[Row]]
"""The rows of each split: train, dev, test, and further test sets such as "long"."""
RowCount = Annotated[int, Field(ge=0, le=1_000_000_000)]
"""An option: a number of rows."""


class Provider(Options):
    """Rows in splits, determined by the options alone.

    fields   names of the fields of the rows
    """

    model_config = ConfigDict(strict=True)

    fields: ClassVar[tuple[str, ...]]

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        found = getattr(cls, "fields", ())
        if not found or not all(isinstance(one, str) for one in found):
            return "lacks fields, the names of the fields of its rows: fields = ('source', 'target')"
        return None

    @abstractmethod
    @required("when the data are opened")
    def splits(self) -> Splits:
        """The rows of each split; the same in every call."""

    def has_test(self) -> bool:
        """Whether there is a split `test`. Where an option `test` sets its number of rows, no row is made to know."""
        return bool(self.test) if "test" in type(self).model_fields else "test" in self.splits()  # type: ignore[attr-defined]


def numbered(name: str, split: str, rows: Iterable[Mapping[str, str]]) -> list[Row]:
    """Rows with their locations, such as "translation:train:17"."""
    return [Row(row, file=f"{name}:{split}", line=line) for line, row in enumerate(rows, start=1)]
