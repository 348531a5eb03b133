"""Text files of word vectors: each line a word and its numbers (GloVe, word2vec, fastText).

The file is read once, line by line, and only the lines of wanted words are converted. A first line of two whole numbers
(word2vec, fastText) is skipped. A word may contain spaces, as in some files of GloVe.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from regard.data.readers.files import ARCHIVE, encoding_of, find, inside, members, opened
from regard.errors import RegardError

MOST_BROKEN = 0.001
"""Share of words that may be wrongly encoded, as a few are in many published files."""
GRAM_LINES = 50_000
"""Lines at the beginning of a file, its most frequent words, whose n-grams are used for unknown words."""
PIECE = 1 << 20


@dataclass
class FoundVectors:
    """What a file holds of the wanted words.

    bytes, digest   the size and a hash of the file
    words           number of words in it
    vectors         those of the wanted words
    grams           those from which the vectors of unknown words are built
    """

    bytes: int
    digest: str
    words: int = 0
    vectors: dict[str, Tensor] = field(default_factory=dict)
    grams: dict[str, Tensor] = field(default_factory=dict)


def size_in_file(path: str) -> int:
    """The number of features of the vectors in a file."""
    with opened(_member(path)) as stream:
        return _Layout.of(stream.readline(), stream.readline(), path).size


def first_words(path: str, count: int) -> list[str]:
    """The first words of a file, which are its most frequent ones."""
    layout: _Layout | None = None
    found: list[str] = []
    for number, line in _lines(_member(path)):
        if layout is None:
            layout = _Layout.of(line, b"", path)
            if layout.header:
                continue
        if len(found) == count:
            break
        word = layout.split(line, layout.size, f"{path}:{number}", first=False)[0] if line else b""
        if word and _is_text(word):
            found.append(word.decode("utf-8"))
    return found


def read_words(path: str, wanted: Collection[str], size: int, *, grams: bool = False) -> FoundVectors:
    """The vectors of wanted words. grams: also those of the most frequent words."""
    local = _member(path)
    found = FoundVectors(*_identity(local))
    keys = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    broken, first_broken = 0, ""
    layout: _Layout | None = None
    for number, line in _lines(local):
        if layout is None:
            layout = _Layout.of(line, b"", path)
            if layout.header:
                _check_size(layout.size, size, f"{path}:1")
                continue
        if not line:
            continue
        word, cells = layout.split(line, size, f"{path}:{number}", first=found.words == 0)
        found.words += 1
        kept = keys.get(word)
        if kept is not None and kept not in found.vectors:
            found.vectors[kept] = _numbers(cells, f"{path}:{number}")
        if not word.isascii() and not _is_text(word):
            broken, first_broken = broken + 1, first_broken or f"{path}:{number}"
        elif grams and number <= GRAM_LINES and word.isalpha():
            vector = found.vectors[kept] if kept is not None else _numbers(cells, f"{path}:{number}")
            found.grams.setdefault(word.decode("utf-8"), vector)
    if not found.words:
        raise RegardError("the file is empty.", where=path, fix="Download it again.")
    if broken > MOST_BROKEN * found.words:
        raise RegardError(
            f"{broken:,} of {found.words:,} words are not UTF-8, the first one here.",
            where=first_broken,
            fix="Convert the file: iconv -f latin1 -t utf-8 FILE",
        )
    return found


@dataclass(frozen=True)
class _Layout:
    """How the lines of a file are written.

    size        features of a vector
    separator   between the cells of a line
    header      whether the first line is a header
    """

    size: int
    separator: bytes
    header: bool

    @classmethod
    def of(cls, first: bytes, second: bytes, path: str) -> _Layout:
        encoding, mark = encoding_of(first)
        if encoding != "utf-8":
            raise RegardError(
                f"the file is {encoding[:6].upper()}, expected UTF-8.",
                where=f"{path}:1",
                fix=f"Convert it: iconv -f {encoding[:6]} -t utf-8 FILE",
            )
        first = first[mark:].rstrip(b" \t\r\n")
        if b"\0" in first or b"\0" in second:
            raise _not_text(path)
        separator = b"\t" if first.count(b"\t") > first.count(b" ") else b" "
        cells = first.split(separator)
        if len(cells) == 2 and all(cell.isdigit() for cell in cells):
            return cls(int(cells[1]), separator, True)
        if not any(_is_number(cell) for cell in cells[1:]):
            raise _not_text(path)
        words = 1
        while words < len(cells) - 1 and not _is_number(cells[words]):
            words += 1
        return cls(len(cells) - words, separator, False)

    def split(self, line: bytes, size: int, where: str, *, first: bool) -> tuple[bytes, list[bytes]]:
        """The word of a line and its cells."""
        count = line.count(self.separator)
        word, *cells = line.rsplit(self.separator, size)
        if count == size:
            return word, cells
        numbers = [cell for cell in line.split(self.separator)[1:] if _is_number(cell)]
        if len(cells) == size and count > size and len(numbers) <= size:
            return word, cells  # a word with spaces
        if first and len(numbers) == count == self.size:
            _check_size(self.size, size, where)
        raise RegardError(
            f"expected a word and {size} numbers, received {len(numbers)} numbers.",
            where=where,
            fix="The line is damaged: download the file again, or delete the line.",
        )


def _check_size(received: int, size: int, where: str) -> None:
    if received != size:
        raise RegardError(
            f"the vectors have {received} numbers, expected {size}.",
            where=where,
            fix=f"Set  size: {received}, or leave size out.",
        )


def _not_text(path: str) -> RegardError:
    return RegardError(
        "this is no text of word vectors: expected a word and its numbers in each line.",
        where=f"{path}:1",
        fix="Name the text format: glove.*.txt, or *.vec of fastText (not *.bin).",
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            if number == 1:
                line = line[encoding_of(line)[1] :] if encoding_of(line)[0] == "utf-8" else line
            yield number, line.rstrip(b" \t\r\n")


def _member(path: str) -> Path:
    """The file to read; the only member of an archive."""
    local = find(Path(path).expanduser() if path.startswith("~") else path)
    if local.suffix.lower() != ARCHIVE or inside(str(local))[0]:
        return local
    names = [name for name in members(str(local)) if not name.endswith("/")]
    if len(names) != 1:
        raise RegardError(
            f"the archive holds {len(names)} files.",
            where=path,
            fix=f"Name one of them: {path}/{names[0]}" if names else "Download it again.",
        )
    return local / names[0]


def _identity(path: Path) -> tuple[int, str]:
    """The size and a hash of a file, or of the archive that holds it."""
    archive = inside(str(path))[0] or str(path)
    digest = hashlib.blake2b(digest_size=16)
    with open(archive, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return os.path.getsize(archive), digest.hexdigest()


def _is_text(word: bytes) -> bool:
    try:
        word.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(cells: list[bytes], where: str) -> Tensor:
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        wrong = next(number for number, cell in enumerate(cells, 1) if not _is_number(cell))
        text = cells[wrong - 1].decode("utf-8", "replace")
        raise RegardError(
            f"number {wrong} of the line is {text!r}, expected a number.",
            where=where,
            fix="Correct the line, or download the file again.",
        ) from None
    if not all(math.isfinite(value) for value in values):
        raise RegardError(
            "a number of the line is infinite or not a number.",
            where=where,
            fix="Correct or delete the line.",
        )
    return torch.tensor(values)
