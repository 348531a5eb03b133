"""A row of the data and its location."""

from __future__ import annotations

from collections.abc import Mapping


class Row(dict[str, str]):
    """Field → text; missing fields are absent.

    file, line   where it was read: its first line, counted from 1; 0 if there are no lines
    problem      why it could not be read, to follow the location in a message ("is not UTF-8: …"); None if it was read
    source       the row as written, kept if it could not be read
    group        the key it shares with other rows of its file, such as a story; "" if it stands alone
    folder       the folder or archive in which files it names are searched first; "": beside its own file
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
