"""Continuous text: a file of any length, read in parts."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from regard.data.readers.files import encoding_of, opened
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

STRETCH = 1 << 16
"""Approximate number of characters per row."""
PIECE = 1 << 20
"""Bytes read at a time."""


@register("reader", "stream")
class StreamReader(Reader):
    """Any text file as one continuous text. Its rows are parts of the text that end with a line, or with a word if a
    line is longer than a part."""

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        if len(fields) != 1:
            raise RegardError(
                f"a text stream is one field, received {', '.join(fields)}.", where=str(files[0])
            )
        file, line, waiting, something = files[0], 1, "", False
        with opened(file) as stream:
            for text in _decoded(stream, file):
                something = True
                waiting += text
                while len(waiting) > STRETCH:
                    end = _end(waiting)
                    yield Row({fields[0]: waiting[:end]}, file=str(file), line=line)
                    line += waiting.count("\n", 0, end)
                    waiting = waiting[end:]
        if waiting:
            yield Row({fields[0]: waiting}, file=str(file), line=line)
        if not something:
            raise RegardError("the file is empty.", where=str(file), fix="Name a file that contains text.")


def _decoded(stream: IO[bytes] | Any, file: Path) -> Iterator[str]:
    """The text in pieces, with \\n for every line end. A byte sequence that is not text raises an error with its
    line."""
    first = stream.read(PIECE)
    encoding, mark = encoding_of(first.partition(b"\n")[0] + b"\n" * (b"\n" in first))
    decoder = codecs.getincrementaldecoder(encoding)()
    content, line, held = first[mark:], 1, ""
    while True:
        last = not content
        try:
            text = held + decoder.decode(content, final=last)
        except UnicodeDecodeError as error:
            before = bytes(error.object[: error.start]).decode(encoding, errors="ignore")
            raise RegardError(
                f"the text is not {encoding.upper()}: {error.reason}.",
                where=f"{file}:{line + before.count(chr(10))}",
                fix="Save the file as UTF-8.",
            ) from None
        # The other half of the line end may follow.
        held = "\r" if text.endswith("\r") and not last else ""
        text = text.removesuffix(held).replace("\r\n", "\n")
        line += text.count("\n")
        if text:
            yield text
        if last:
            return
        content = stream.read(PIECE)


def _end(text: str) -> int:
    """Where to end a part of a longer text: after a line, else before a word, else between characters."""
    end = text.rfind("\n", 0, STRETCH) + 1
    if end:
        return end
    end = next((place for place in range(STRETCH, STRETCH // 2, -1) if text[place - 1].isspace()), STRETCH)
    while end > 1 and end < len(text) and unicodedata.combining(text[end]):
        end -= 1
    return end
