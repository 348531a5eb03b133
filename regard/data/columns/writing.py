"""How the units of a vocabulary are written: which characters each one adds to a text, given what came before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.columns.casing import capitalize, restore_case
from regard.data.columns.marks import CAPITAL, ESCAPE, JOINER, SPACE, UPPER, unescape
from regard.data.ragged import Array

Mode = tuple[bool, str]
"""Whether no space comes before the next unit, and the mark of its case."""


@dataclass(frozen=True)
class UnitWriting:
    """Units as characters, by modes: the state that earlier units leave behind. The first mode is the beginning.

    texts       (modes, units) the characters that a unit adds; None: it cannot follow
    following   (modes, units) the mode after it
    """

    texts: tuple[tuple[str | None, ...], ...]
    following: Array

    def written(self, units: Sequence[int]) -> str | None:
        """The text of some units; None if one of them cannot follow."""
        mode, text = 0, ""
        for unit in units:
            added = self.texts[mode][unit]
            if added is None:
                return None
            text += added
            mode = int(self.following[mode, unit])
        return text


def by_modes(
    pieces: Sequence[str], add: Callable[[Mode, str], tuple[str | None, Mode]], start: Mode = (True, "")
) -> UnitWriting:
    """The writing of pieces, from a function: the mode and a piece → the added text, and the next mode."""
    modes: dict[Mode, int] = {start: 0}
    texts: list[tuple[str | None, ...]] = []
    following: list[list[int]] = []
    while len(texts) < len(modes):
        mode = list(modes)[len(texts)]
        added = [add(mode, piece) for piece in pieces]
        texts.append(tuple(text for text, _ in added))
        following.append([modes.setdefault(after, len(modes)) for _, after in added])
    return UnitWriting(tuple(texts), np.array(following, dtype=np.int32).reshape(len(texts), len(pieces)))


def of_words(pieces: Sequence[str], *, punctuation: bool, marked: bool) -> UnitWriting:
    """Words with a space between them, joiners and marks of case as in `Words.join`."""

    def add(mode: Mode, piece: str) -> tuple[str | None, Mode]:
        free, mark = mode
        if marked and piece in (CAPITAL, UPPER):
            return "", (free, piece)
        text = restore_case([mark, piece])[-1] if mark else piece
        begins, ends = (punctuation and text.startswith(JOINER)), (punctuation and text.endswith(JOINER))
        text = text.strip(JOINER) if punctuation else text
        text = unescape(text) if punctuation or marked else text
        return ("" if free or begins else " ") + text, (ends, "")

    return by_modes(pieces, add)


def of_characters(pieces: Sequence[str], *, marked: bool) -> UnitWriting:
    def add(mode: Mode, piece: str) -> tuple[str | None, Mode]:
        if marked and piece in (CAPITAL, UPPER):
            return "", (False, piece)
        mark = mode[1]
        text = restore_case([mark, piece])[-1] if mark else piece
        return unescape(text) if marked else text, (False, "")

    return by_modes(pieces, add, (False, ""))


def of_subwords(pieces: Sequence[str], *, marked: bool) -> UnitWriting:
    """Subwords, as in `Subwords.join`; those with half an escape in them cannot follow."""

    def add(mode: Mode, piece: str) -> tuple[str | None, Mode]:
        first, mark = mode
        if ESCAPE in piece:
            return None, mode
        text = piece.replace(SPACE, " ")
        if first:
            text = text.removeprefix(" ")
        text, mark = _cased(text, mark) if marked else (text, mark)
        return text, (first and not piece, mark)

    return by_modes(pieces, add)


def with_line_ends(lines: UnitWriting, pieces: Sequence[str], end: str) -> UnitWriting:
    """The writing of pieces within lines, with line ends as pieces of their own: after one, a line begins."""
    texts = tuple(
        tuple(end if piece == end else text for piece, text in zip(pieces, mode, strict=True))
        for mode in lines.texts
    )
    following = lines.following.copy()
    following[:, [number for number, piece in enumerate(pieces) if piece == end]] = 0
    return UnitWriting(texts, following)


def _cased(text: str, mark: str) -> tuple[str, str]:
    """The text with the marks in it applied, and the mark that is left for the letters after it."""
    found = ""
    for character in text:
        if character in (CAPITAL, UPPER):
            mark = character
        elif not character.isalnum() or character.isdecimal():  # ends a run of letters
            found, mark = found + character, ""
        elif mark == CAPITAL:
            raised = capitalize(character)
            found, mark = found + raised, ("" if raised != character else mark)
        else:
            found += character.upper() if mark == UPPER else character
    return found, mark
