"""Units of tokenization: words, characters or bytes. For subwords see `subword.py`.

Every unit guarantees `join(cut(text)) == plain(text)`, where `plain` defines exactly what is lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import ClassVar
from unicodedata import category

from regard.data.columns.casing import mark_case, restore_case
from regard.data.columns.marks import JOINER, escape, unescape


class Unit(ABC):
    """Splits text into pieces and joins them again."""

    unknown: ClassVar[str]
    """How a piece outside the vocabulary is shown."""

    @abstractmethod
    def cut(self, text: str) -> list[str]: ...

    @abstractmethod
    def join(self, pieces: Sequence[str]) -> str:
        """Accepts any pieces in any order, because a model may generate anything."""

    def plain(self, text: str) -> str:
        """The text after splitting and joining."""
        return text

    def show(self, piece: str) -> str:
        """A piece as the label of an axis."""
        return piece


class Words(Unit):
    """Words separated by spaces; with `punctuation`, also separated from adjacent punctuation.

    Runs of white space become one space, with none at either end. Everything else is restored exactly. A piece without
    a space before or after it carries a joiner: "Stop, now!" → "Stop", "￭,", "now", "￭!". With `marked`, capitals
    become marks: "⇧", "stop", "￭,", "now", "￭!". Joiners and marks in the text itself are escaped.
    """

    unknown = "<unk>"

    def __init__(self, *, punctuation: bool = False, marked: bool = False) -> None:
        self.punctuation, self.marked = punctuation, marked

    def cut(self, text: str) -> list[str]:
        if self.punctuation:
            pieces = [piece for chunk in text.split() for piece in separate(chunk)]
        elif self.marked:
            pieces = escape(text).split()
        else:
            return text.split()
        return [part for piece in pieces for part in mark_case(piece)] if self.marked else pieces

    def join(self, pieces: Sequence[str]) -> str:
        if self.marked:
            pieces = restore_case(pieces)
        if not self.punctuation:
            text = " ".join(pieces)
            return unescape(text) if self.marked else text
        text, open_end = "", True
        for piece in pieces:
            start, end = piece.startswith(JOINER), piece.endswith(JOINER)
            text += ("" if open_end or start else " ") + piece.strip(JOINER)
            open_end = end
        return unescape(text)

    def plain(self, text: str) -> str:
        return " ".join(text.split())


class WithLineEnds(Unit):
    """Another unit, applied within lines; each line end is a piece of its own."""

    END: ClassVar[str] = "\n"

    def __init__(self, unit: Unit) -> None:
        self.unit, self.unknown = unit, unit.unknown  # type: ignore[misc]

    def cut(self, text: str) -> list[str]:
        first, *others = text.split(self.END)
        pieces = self.unit.cut(first)
        for line in others:
            pieces += [self.END, *self.unit.cut(line)]
        return pieces

    def join(self, pieces: Sequence[str]) -> str:
        lines: list[list[str]] = [[]]
        for piece in pieces:
            if piece == self.END:
                lines.append([])
            else:
                lines[-1].append(piece)
        return self.END.join(self.unit.join(line) for line in lines)

    def plain(self, text: str) -> str:
        return self.END.join(self.unit.plain(line) for line in text.split(self.END))

    def show(self, piece: str) -> str:
        return self.unit.show(piece)


@lru_cache(maxsize=1 << 16)
def belongs_to_word(character: str) -> bool:
    """Letters, their combining marks, digits, and the two joining controls that Indic and Persian words contain."""
    return character.isalnum() or category(character)[0] == "M" or character in "\u200c\u200d"


def separate(chunk: str) -> list[str]:
    """Split a text without spaces into words and single signs, escaped; the signs carry the joiners."""
    if chunk.isalnum():
        return [chunk]
    pieces: list[str] = []
    for is_word, run in groupby(chunk, belongs_to_word):
        characters = list(run)
        pieces += ["".join(characters)] if is_word else map(escape, characters)
    for place in range(1, len(pieces)):
        if not belongs_to_word(pieces[place][0]):
            pieces[place] = JOINER + pieces[place]
        else:
            pieces[place - 1] += JOINER
    return pieces


class Characters(Unit):
    """Unicode characters, including spaces; lossless. With `marked`, a capital becomes a mark and its lower-case
    letter."""

    unknown = "\ufffd"

    def __init__(self, *, marked: bool = False) -> None:
        self.marked = marked

    def cut(self, text: str) -> list[str]:
        if not self.marked:
            return list(text)
        return [part for character in text for part in mark_case(escape(character))]

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(unescape(piece) for piece in restore_case(pieces)) if self.marked else "".join(pieces)

    def show(self, piece: str) -> str:
        return {" ": "␣", "\n": "⏎"}.get(piece, piece)


class Bytes(Unit):
    """The bytes of UTF-8, each as two hexadecimal digits; lossless, and no piece is ever unknown."""

    unknown = "\ufffd"
    spellings: ClassVar[list[str]] = [f"{byte:02x}" for byte in range(256)]

    def cut(self, text: str) -> list[str]:
        return [self.spellings[byte] for byte in text.encode("utf-8")]

    def join(self, pieces: Sequence[str]) -> str:
        """Byte sequences that are not UTF-8, which a model may generate, become U+FFFD."""
        return bytes(int(piece, 16) for piece in pieces if len(piece) == 2).decode("utf-8", errors="replace")

    def show(self, piece: str) -> str:
        return chr(int(piece, 16)) if len(piece) == 2 and 0x21 <= int(piece, 16) <= 0x7E else piece
