"""The rows of a source whose fields have certain values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from regard.data.readers.row import Row, SomeRows, all_rows, fingerprint


class FilteredRows(SomeRows):
    """The rows whose named fields each have one of the wanted values; read anew in each iteration.

    wanted   field → values; surrounding white space is ignored
    """

    def __init__(self, rows: Iterable[Row], wanted: Mapping[str, Sequence[str]]) -> None:
        self.rows = rows
        self.wanted = {field: tuple(value.strip() for value in values) for field, values in wanted.items()}

    def __iter__(self) -> Iterator[Row]:
        return (row for row in self.rows if self._fits(row))

    def with_problems(self) -> Iterator[Row]:
        """The selected rows, and all unreadable rows: they have no fields to filter by."""
        return (row for row in all_rows(self.rows) if row.problem is not None or self._fits(row))

    def fingerprint(self) -> str:
        content = f"{fingerprint(self.rows)} {sorted(self.wanted.items())}"
        return hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=16).hexdigest()

    def _fits(self, row: Row) -> bool:
        return all(row.get(field, "").strip() in values for field, values in self.wanted.items())
