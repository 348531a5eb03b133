"""Rows that cannot be used: stop at the first, or set them aside with file, line and reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from regard.data.contents import is_data
from regard.data.readers.row import Row
from regard.data.readers.rows import SKIP_HINT, BadRows
from regard.errors import RegardError, Words
from regard.storage.files import write_bytes

MOST_CONTENT = 64


class Rejected(NamedTuple):
    """One line of rejected.tsv; tabs and line ends inside a cell are written as \\t, \\n and \\r."""

    file: str
    line: int
    reason: str
    row: str

    def write(self) -> str:
        cells = (self.file, str(self.line), self.reason, self.row)
        return "\t".join(re.sub(r"[\\\t\n\r]", lambda m: _ESCAPES[m[0]], cell) for cell in cells) + "\n"

    @classmethod
    def read(cls, line: str) -> Rejected:
        cells = [
            re.sub(r"\\[\\tnr]", lambda m: _MEANINGS[m[0]], cell)
            for cell in line.removesuffix("\n").split("\t")
        ]
        return cls(cells[0], int(cells[1]), cells[2], cells[3])


_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_MEANINGS = {written: sign for sign, written in _ESCAPES.items()}
HEADER = "\t".join(Rejected._fields) + "\n"


class Rejections:
    """How to treat bad rows while a dataset is built.

    on_bad   "stop" raises at the first; "skip" counts and keeps them
    remedy   the remedy in the error about the first bad row
    """

    def __init__(self, on_bad: BadRows, kept: Iterable[Rejected] = (), *, remedy: Words = SKIP_HINT) -> None:
        self.on_bad, self.kept, self.remedy = on_bad, list(kept), remedy

    def add(self, row: Row, reason: str) -> None:
        """reason: a sentence without its period, such as "target is empty"."""
        if self.on_bad == "stop":
            raise RegardError(f"{reason}.", where=row.where, fix=self.remedy)
        self.kept.append(
            Rejected(row.file, row.line, reason, row.source or "\t".join(map(short, row.values())))
        )

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def reasons(self) -> Counter[str]:
        """Number of rows for each reason, with numbers and quoted values replaced: "target has … tokens"."""
        return Counter(
            re.sub(r"'[^']*'|\b\d+\b|\b0x[0-9a-f]+\b", "…", rejected.reason) for rejected in self.kept
        )


def short(value: str) -> str:
    """The value, shortened if it is the content of a file."""
    return f"{value[:MOST_CONTENT]}…" if is_data(value) and len(value) > MOST_CONTENT else value


def write_rejected(path: Path, rejected: Iterable[Rejected]) -> int:
    """Write rejected.tsv atomically and return the number of its rows. Without rows, remove any old file."""
    lines = [one.write() for one in rejected]
    if not lines:
        path.unlink(missing_ok=True)
        return 0
    write_bytes(path, "".join([HEADER, *lines]).encode("utf-8", errors="backslashreplace"))
    return len(lines)


def read_rejected(path: Path) -> list[Rejected]:
    """The inverse of `write_rejected`."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="\n") as file:
        next(file)
        return [Rejected.read(line) for line in file]
