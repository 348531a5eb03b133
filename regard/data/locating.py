"""Files that rows name: where to find them, and whether they have changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence

from regard.data.columns.column import Column
from regard.data.contents import Contents, is_data
from regard.data.readers.row import Row


def located(rows: Iterable[Row], naming: Sequence[Column]) -> Iterator[Row]:
    """The rows, with the paths in the columns that name files resolved."""
    contents = Contents()
    return (locate(row, naming, contents) for row in rows)


def locate(row: Row, naming: Sequence[Column], contents: Contents) -> Row:
    """The row, with paths resolved: in the row's folder, if it has one, then beside its file."""
    file, folder = getattr(row, "file", ""), getattr(row, "folder", "")
    kept = {}
    for column in naming:
        value = row.get(column.field)
        if value is None:
            continue
        found = column.located(value, os.path.join(folder, "row") if folder else file)
        if folder and not is_data(found) and not contents.has(found):
            beside = column.located(value, file)
            found = beside if contents.has(beside) else found
        kept[column.field] = found
    line, problem = getattr(row, "line", 0), getattr(row, "problem", None)
    return Row({**row, **kept}, file=file, line=line, problem=problem, source=getattr(row, "source", ""))


def stamped(rows: Iterable[Row], naming: Sequence[Column]) -> str:
    """A digest that changes with any of the files that the rows name in these columns."""
    digest, contents = hashlib.blake2b(digest_size=16), Contents()
    for row in located(rows, naming):
        for column in naming:
            value = row.get(column.field, "")
            if value and not is_data(value):
                digest.update(f"{value} {contents.stamp(value)}\n".encode(errors="surrogatepass"))
    return digest.hexdigest()
