"""Lines of text files, numbered, with those that are not UTF-8 marked instead of fatal."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.data.readers.opening import opened
from regard.errors import RegardError


@dataclass(frozen=True)
class Line:
    """number from 1; text without its end; problem: why the text is not what the file holds."""

    number: int
    text: str
    problem: str | None = None


def read_lines(path: Path) -> Iterator[Line]:
    """Lines end at "\\n", with or without "\\r" before it: no other sign that Unicode calls a line end cuts a row."""
    with opened(path) as stream:
        for number, content in enumerate(stream, start=1):
            if number == 1:
                content = without_byte_order_mark(content, path)
            content = content.removesuffix(b"\n").removesuffix(b"\r")
            try:
                yield Line(number, content.decode("utf-8"))
            except UnicodeDecodeError as error:
                wrong = content[error.start]
                problem = (
                    f"is not UTF-8: byte {error.start + 1} of the line is 0x{wrong:02x} ({error.reason})"
                )
                yield Line(number, content.decode("utf-8", errors="backslashreplace"), problem)


def without_byte_order_mark(start: bytes, path: Path) -> bytes:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise RegardError(
            "the file is UTF-16, expected UTF-8.",
            where=str(path),
            fix=f"Convert it: iconv -f UTF-16 -t UTF-8 {path}",
        )
    return start.removeprefix(codecs.BOM_UTF8)


def without_last_blank_lines(lines: Iterator[Line]) -> Iterator[Line]:
    """Blank lines between others are rows, and bad ones; at the end of a file they are nothing."""
    blank: list[Line] = []
    for line in lines:
        if line.text:
            yield from blank
            blank.clear()
            yield line
        else:
            blank.append(line)
