"""The units that a text is cut into, and their numbers.

Units are words, characters or bytes; for subwords see `subword.py`. Every unit guarantees `join(cut(text)) ==
plain(text)`, where `plain` defines exactly what is lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar
from unicodedata import category

import numpy as np

from regard.data.batch import BEGIN, END, PAD, UNKNOWN
from regard.data.columns.casing import mark_case, restore_case
from regard.data.columns.marks import JOINER, escape, unescape
from regard.data.ragged import Array

if TYPE_CHECKING:
    from regard.data.columns.writing import UnitWriting

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
"""How the four special ids are shown, in numeric order."""


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

    def writing(self, pieces: Sequence[str]) -> UnitWriting | None:
        """The characters that each piece adds to a text; None if they are not known piece by piece."""
        return None


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

    def writing(self, pieces: Sequence[str]) -> UnitWriting:
        from regard.data.columns.writing import of_words

        return of_words(pieces, punctuation=self.punctuation, marked=self.marked)


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

    def writing(self, pieces: Sequence[str]) -> UnitWriting | None:
        from regard.data.columns.writing import with_line_ends

        found = self.unit.writing(pieces)
        return None if found is None else with_line_ends(found, pieces, self.END)


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

    def writing(self, pieces: Sequence[str]) -> UnitWriting:
        from regard.data.columns.writing import of_characters

        return of_characters(pieces, marked=self.marked)


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


def new_unit(known: Sequence[str]) -> str:
    """A unit that is not among the known ones."""
    return f"unit{len(known)}\0"


def code_points(text: str) -> Array:
    """(characters,) uint32"""
    return np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32)


class Vocabulary:
    """Ids 0 to 3 are PAD, UNKNOWN, BEGIN and END; the pieces follow in the order given.

    The special ids have no spelling in text: a piece "</s>" in the data is an ordinary piece.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self.pieces = list(pieces)
        self._numbers = {piece: number for number, piece in enumerate(self.pieces, start=len(SPECIAL))}
        self._by_character: Array | None = None
        if len(self._numbers) != len(self.pieces):
            twice = next(piece for piece, count in Counter(self.pieces).items() if count > 1)
            raise ValueError(f"a vocabulary contains each piece once, received {twice!r} twice")

    @classmethod
    def counted(cls, pieces: Counter[str], *, size: int | None = None, min_count: int = 1) -> Vocabulary:
        """The most frequent pieces first, ties in lexicographic order, so the order of the data does not matter.

        size   maximum number of entries, including the four special ones
        """
        kept = sorted(
            (piece for piece, count in pieces.items() if count >= min_count), key=lambda p: (-pieces[p], p)
        )
        return cls(kept if size is None else kept[: max(0, size - len(SPECIAL))])

    def __len__(self) -> int:
        return len(SPECIAL) + len(self.pieces)

    def __contains__(self, piece: str) -> bool:
        return piece in self._numbers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.pieces == other.pieces

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} entries: {', '.join(self.pieces[:5])}{', …' if len(self.pieces) > 5 else ''})"

    def units(self) -> list[Hashable]:
        """The entries in the order of their numbers. A special one is a tuple, since a piece may be spelled alike."""
        return [*((name,) for name in SPECIAL), *self.pieces]

    def grown(self) -> Vocabulary:
        """The vocabulary with one more piece."""
        return Vocabulary([*self.pieces, new_unit(self.pieces)])

    def id(self, piece: str) -> int:
        """The number of a piece, or UNKNOWN."""
        return self._numbers.get(piece, UNKNOWN)

    def ids(self, pieces: Iterable[str]) -> list[int]:
        get = self._numbers.get
        return [get(piece, UNKNOWN) for piece in pieces]

    def ids_of_characters(self, text: str) -> Array:
        """(characters,) int32: `ids` of the characters of a text, a hundred times as fast for a long text."""
        if self._by_character is None:
            known = {ord(piece): number for piece, number in self._numbers.items() if len(piece) == 1}
            self._by_character = np.full(max(known, default=0) + 2, UNKNOWN, dtype=np.int32)
            self._by_character[list(known)] = list(known.values())
        return self._by_character[np.minimum(code_points(text), len(self._by_character) - 1)]

    def piece(self, number: int) -> str:
        """The piece with this number; special ids as they are shown."""
        return SPECIAL[number] if number < len(SPECIAL) else self.pieces[number - len(SPECIAL)]

    def content(self, numbers: Sequence[int]) -> list[int]:
        """The numbers before the first END, without PAD and BEGIN."""
        kept = []
        for number in map(int, numbers):
            if number == END:
                break
            if number not in (PAD, BEGIN):
                kept.append(number)
        return kept
