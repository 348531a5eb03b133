"""Cut the bytes of a large table into blocks of rows."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.data.blocks.block import RowBlock
from regard.data.readers.files import COMPRESSIONS, Line, encoding_of, line_of
from regard.data.readers.row import Row
from regard.reporting.terminal import open_watched

SIZE = 1 << 22
"""Bytes of a block."""
END_OF_LINE, END_OF_CELL, UNUSUAL = 1, 2, 3


class Cut(NamedTuple):
    """How the lines of a file become rows.

    fields, places    each field and the number of its cell
    width             number of cells
    delimiter         the byte between cells
    quotes            whether quotes enclose cells
    header            the number of the line that is no row; 0 for none
    """

    fields: tuple[str, ...]
    places: tuple[int, ...]
    width: int
    delimiter: int
    quotes: bool
    header: int


def suits(path: Path, *, quotes: bool) -> bool:
    """Whether a file is UTF-8 by its first line, not compressed, and has no quote if those enclose cells."""
    if path.suffix in COMPRESSIONS:
        return False
    with path.open("rb") as file:
        first = file.readline()
        if not first.endswith(b"\n") or encoding_of(first)[0] != "utf-8":
            return False
        if not quotes:
            return True
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(b'"') < 0


def blocks_of(path: Path, cut: Cut, look: Callable[[Line], Row | None]) -> Iterator[RowBlock]:
    """The blocks of a file that `suits`.

    look   the row of a line that is not as expected; None if it is no row
    """
    with open_watched(path) as file:
        number, rest = 1, b""
        while piece := file.read(SIZE):
            content = rest + piece
            end = content.rfind(b"\n") + 1
            content, rest = content[:end], content[end:]
            if not content:
                continue
            if number == 1:
                content = content[encoding_of(content)[1] :]
            yield (block := _block(content, number, str(path), cut, look))[0]
            number += block[1]
        if rest:
            yield _block(rest, number, str(path), cut, look)[0]


def _block(
    content: bytes, number: int, file: str, cut: Cut, look: Callable[[Line], Row | None]
) -> tuple[RowBlock, int]:
    """The block of some lines, the first of which has this number, and how many they are."""
    from regard.data.blocks.kernels import cut_lines

    text = np.frombuffer(content, np.uint8)
    most, fields = int(np.count_nonzero(text == ord("\n"))) + 1, len(cut.fields)
    starts, ends = np.zeros((most, fields), np.int64), np.zeros((most, fields), np.int64)
    lines = np.zeros((most, 3), np.int64)
    kinds = np.zeros(256, np.uint8)
    kinds[[0, ord('"')]] = UNUSUAL * cut.quotes
    kinds[128:] = UNUSUAL * (not _valid(content))
    kinds[[ord("\n"), cut.delimiter]] = END_OF_LINE, END_OF_CELL
    places = np.array(cut.places, np.int64)
    count = cut_lines(text, kinds, places, cut.width, cut.quotes, starts, ends, lines)
    usual = lines[:count, 2] > 0
    if number <= cut.header < number + count:
        usual[cut.header - number] = False
    before = np.cumsum(usual)
    odd = []
    for at in np.flatnonzero(~usual).tolist():
        if number + at != cut.header:
            end = int(lines[at + 1, 0]) if at + 1 < count else len(content)
            row = look(line_of(number + at, content[int(lines[at, 0]) : end]))
            odd += [] if row is None else [(int(before[at]), row)]
    numbers = np.arange(number, number + count, dtype=np.int64)[usual]
    return RowBlock(file, cut.fields, text, starts[:count][usual], ends[:count][usual], numbers, odd), count


def _valid(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
