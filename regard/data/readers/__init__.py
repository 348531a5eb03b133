"""Readers: rows from files and the hub, with their locations. Each module defines and registers one format."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.data.readers.entries import Entries, Entry
    from regard.data.readers.files import Line, read_lines
    from regard.data.readers.latex import latex_tokens
    from regard.data.readers.reader import Reader
    from regard.data.readers.row import Row, RowSource
    from regard.data.readers.rows import BadRows, FileRows, ManyRows, read_rows, values
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "BadRows",
    "Entries",
    "Entry",
    "FileRows",
    "Line",
    "ManyRows",
    "Reader",
    "Row",
    "RowSource",
    "latex_tokens",
    "read_lines",
    "read_rows",
    "values",
]
