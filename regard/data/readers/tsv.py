"""Tables with the extension .tsv or .tab."""

from __future__ import annotations

from typing import ClassVar

from regard.data.readers.layout import Delimiter
from regard.data.readers.table import TableReader
from regard.parts import register


@register("reader", "tsv")
class TsvReader(TableReader):
    """A table with tabs between cells, unless the file has another delimiter."""

    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".tab")
    usual: ClassVar[Delimiter | None] = "tab"
