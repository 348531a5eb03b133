"""Numbered lines of text files; lines that cannot be decoded are marked and do not stop the reader."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO

from regard.data.readers.opening import opened

BLANK = "is a blank line"
"""The problem of a line without content: it is skipped and counted, but is not an error."""
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Line:
    """number: from 1; text: without its line end; problem: why the text differs from the content of the file."""

    number: int
    text: str
    problem: str | None = None
    end: str = "\n"


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a plain or compressed file."""
    with opened(path) as stream:
        yield from stream_lines(stream)


def stream_lines(stream: IO[bytes] | io.BufferedIOBase) -> Iterator[Line]:
    """Lines end at "\\n", with or without "\\r" before it; at "\\r" in a file without any "\\n". Other line
    separators of Unicode do not split a row.

    The text is UTF-8, or UTF-16 or UTF-32 if a byte order mark or the zero bytes of the first line indicate so.
    """
    first = stream.readline()
    encoding, mark = encoding_of(first)
    contents = chain(
        first[mark:].splitlines(keepends=True) if not first.endswith(b"\n") else [first[mark:]], stream
    )
    if encoding != "utf-8":
        yield from _wide_lines(contents, encoding)
        return
    for number, content in enumerate(contents, start=1):
        bare = content.removesuffix(b"\n").removesuffix(b"\r")
        end = content[len(bare) :].decode("ascii")
        try:
            yield Line(number, bare.decode("utf-8"), end=end)
        except UnicodeDecodeError as error:
            wrong = bare[error.start]
            problem = f"is not UTF-8: byte {error.start + 1} of the line is 0x{wrong:02x} ({error.reason})"
            yield Line(number, bare.decode("utf-8", errors="backslashreplace"), problem, end)


def encoding_of(first: bytes) -> tuple[str, int]:
    """The encoding that the first line indicates, and the length of its byte order mark."""
    for mark, encoding in _WIDE_MARKS:
        if first.startswith(mark):
            return encoding, len(mark)
    if first.startswith(codecs.BOM_UTF8):
        return "utf-8", len(codecs.BOM_UTF8)
    even, odd = first[::2].count(0), first[1::2].count(0)
    # Without a mark: every other byte of Latin letters is zero, and so is one beside the line end.
    if first.endswith(b"\n") and len(first) % 2 == 1 and even == 0 and odd * 4 > len(first):
        return "utf-16-le", 0
    if first.endswith(b"\0\n") and len(first) % 2 == 0 and odd == 0 and even * 4 > len(first):
        return "utf-16-be", 0
    return "utf-8", 0


def _wide_lines(contents: Iterator[bytes], encoding: str) -> Iterator[Line]:
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    name, number, pending, damage = encoding[:6].upper(), 0, "", None
    for content in contents:
        try:
            pending += decoder.decode(content)
        except UnicodeDecodeError as error:
            damage = f"is not {name} ({error.reason})"
            break
        *whole, pending = pending.split("\n")
        for text in whole:
            number += 1
            yield _wide_line(number, text, "\n", name)
    else:
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            damage = f"is not {name}: the file ends within a character"
    if damage:
        yield Line(number + 1, pending, damage, "")
    elif pending:
        yield _wide_line(number + 1, pending, "", name)


def _wide_line(number: int, text: str, end: str, name: str) -> Line:
    bare = text.removesuffix("\r")
    half = not bare.isascii() and any("\ud800" <= character <= "\udfff" for character in bare)
    problem = f"is not {name}: it has an unpaired surrogate" if half else None
    if half:
        return Line(number, bare.encode("utf-8", "backslashreplace").decode("utf-8"), problem, end)
    return Line(number, bare, problem, text[len(bare) :] + end)


def without_last_blank_lines(lines: Iterator[Line]) -> Iterator[Line]:
    """Drop blank lines at the end of a file. Blank lines between others may be significant."""
    blank: list[Line] = []
    for line in lines:
        if line.text:
            yield from blank
            blank.clear()
            yield line
        else:
            blank.append(line)
