"""The pieces of a file, to be written back with other values in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Entry:
    """A piece of a file: a row, or something between the rows.

    line      number of its first line, from 1
    values    the fields of the row; empty for a header, a comment or a blank line
    problem   why it is not a row, as a sentence without its period: "the line is blank"; None if it is one
    remedy    what to do about the problem
    written   values by field → the text of the piece with these values, line ends included
    """

    line: int
    values: Mapping[str, str]
    written: Callable[[Mapping[str, str]], str]
    problem: str | None = None
    remedy: str = ""


class Entries(NamedTuple):
    """All pieces of a file, in order, and remarks on how it is read."""

    pieces: Iterator[Entry]
    remarks: list[str] = []


def left_out(new: Mapping[str, str]) -> str:
    """The text of a piece that cannot be written back."""
    return ""
