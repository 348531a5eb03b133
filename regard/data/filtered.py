"""Some of the rows of a source: those whose fields have certain values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from regard.data.encoding import all_rows, fingerprint
from regard.data.readers.row import Row


class FilteredRows(Iterable[Row]):
    """The rows that have one of the wanted values in each of the named fields, read anew each time.

    wanted   field → values; white space around a value does not count
    """

    def __init__(self, rows: Iterable[Row], wanted: Mapping[str, Sequence[str]]) -> None:
        self.rows = rows
        self.wanted = {field: tuple(value.strip() for value in values) for field, values in wanted.items()}

    def __iter__(self) -> Iterator[Row]:
        return (row for row in self.rows if self._fits(row))

    def with_problems(self) -> Iterator[Row]:
        """Rows that could not be read have no fields to go by: they are reported whatever is wanted."""
        return (row for row in all_rows(self.rows) if row.problem is not None or self._fits(row))

    def fingerprint(self) -> str:
        content = f"{fingerprint(self.rows)} {sorted(self.wanted.items())}"
        return hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=16).hexdigest()

    def _fits(self, row: Row) -> bool:
        return all(row.get(field, "").strip() in values for field, values in self.wanted.items())
