"""A row of the data, and where it came from."""

from __future__ import annotations

from collections.abc import Mapping


class Row(dict[str, str]):
    """Field → text; a field that is missing is absent.

    file, line   where it was read: the first line of it, counted from 1; 0 where there are no lines
    problem      why it could not be read, to be read after the place ("is not UTF-8: …"); None when it could
    source       the row as written, kept where it could not be read
    group        what it shares with other rows of its file, a story they are all about; "" where it stands alone
    folder       where the files it names are looked for first: a folder or an archive; "" beside its own file
    """

    __slots__ = ("file", "folder", "group", "line", "problem", "source")

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        *,
        file: str = "",
        line: int = 0,
        problem: str | None = None,
        source: str = "",
        folder: str = "",
        group: str = "",
    ) -> None:
        super().__init__(values or {})
        self.file, self.line, self.problem, self.source = file, line, problem, source
        self.folder, self.group = folder, group

    @property
    def where(self) -> str:
        """file:line"""
        return f"{self.file}:{self.line}" if self.line else self.file
