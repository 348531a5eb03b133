"""Tables with the extension .csv."""

from __future__ import annotations

from typing import ClassVar

from regard.data.readers.layout import Delimiter
from regard.data.readers.table import TableReader
from regard.parts import register


@register("reader", "csv")
class CsvReader(TableReader):
    """A table with commas between cells, unless the file has another delimiter."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    usual: ClassVar[Delimiter | None] = "comma"
