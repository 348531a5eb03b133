"""Pieces and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from regard.data.batch import BEGIN, END, PAD, UNKNOWN
from regard.data.ragged import Array

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
"""How the four special ids are shown, in numeric order."""


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
