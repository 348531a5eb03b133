"""Cells of a table and the fields they belong to: shared by TSV and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from regard.data.readers.row import Row
from regard.errors import RegardError


class Header:
    """Which cell is which field.

    A first line that contains every field's name is a header, and other columns may stand beside them; otherwise
    the cells are the fields in their order, as many as there are fields.
    """

    def __init__(self, first: Sequence[str], fields: Sequence[str], path: Path, separated: str) -> None:
        self.fields, self.path, self.separated = list(fields), path, separated
        names = [cell.strip() for cell in first]
        lacking = [field for field in fields if field not in names]
        self.present = not lacking
        if not self.present and len(lacking) < len(self.fields):
            nearest = get_close_matches(lacking[0], names, n=1)
            raise RegardError(
                f"the header has {', '.join(names)}, but no {' and no '.join(lacking)}.",
                where=f"{path}:1",
                fix=f"Rename {nearest[0]!r} to {lacking[0]!r}."
                if nearest
                else "Name the columns as the spec does.",
            )
        self.names = names if self.present else self.fields

    def row(self, cells: Sequence[str], line: int, source: str) -> Row:
        if len(cells) != len(self.names):
            count = f"{len(cells)} {self.separated} cell{'' if len(cells) == 1 else 's'}"
            problem = f"has {count}, expected {len(self.names)} ({', '.join(self.names)})"
            return Row(file=str(self.path), line=line, problem=problem, source=source)
        values = dict(zip(self.names, cells, strict=True))
        return Row({field: values[field] for field in self.fields}, file=str(self.path), line=line)
