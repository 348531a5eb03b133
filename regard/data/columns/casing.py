"""Capitals as marks: a word in lower case with a mark before it that tells how it was written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from regard.data.columns.marks import CAPITAL, UPPER


def capitalise(word: str) -> str:
    """The first letter that has a capital in its capital form; "(hello" → "(Hello"."""
    for place, letter in enumerate(word):
        if letter.upper() != letter:
            return word[:place] + letter.upper() + word[place + 1 :]
    return word


def mark_case(word: str) -> list[str]:
    """["paris"] → ["paris"], ["Paris"] → [CAPITAL, "paris"], ["NATO"] → [UPPER, "nato"].

    Words written in any other way ("iPhone", "McDonald") or whose letters do not come back from lower case
    ("İstanbul") stay as they are, so that restoring is always exact.
    """
    lower = word.lower()
    if lower == word:
        return [word]
    if capitalise(lower) == word:
        return [CAPITAL, lower]
    if lower.upper() == word:
        return [UPPER, lower]
    return [word]


def restore_case(pieces: Iterable[str]) -> list[str]:
    """The inverse of `mark_case` over a whole text; a mark with nothing after it is dropped."""
    words, mark = [], ""
    for piece in pieces:
        if piece in (CAPITAL, UPPER):
            mark = piece
            continue
        words.append(capitalise(piece) if mark == CAPITAL else piece.upper() if mark == UPPER else piece)
        mark = ""
    return words


_LETTERS = r"[^\W\d_]"
_WORD = re.compile(f"{_LETTERS}+")
_MARKED = re.compile(f"([{CAPITAL}{UPPER}])({_LETTERS}*)")


def mark_case_within(text: str) -> str:
    """Marks written into the text itself, before each run of letters, for units that cut without regard to words."""
    return _WORD.sub(lambda match: "".join(mark_case(match[0])), text)


def restore_case_within(text: str) -> str:
    """The inverse of `mark_case_within`."""
    return _MARKED.sub(lambda match: "".join(restore_case([match[1], match[2]])), text)
