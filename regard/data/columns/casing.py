"""Truecasing by marks: words in lower case, each preceded by a mark for its original case."""

from __future__ import annotations

import re
from collections.abc import Iterable

from regard.data.columns.marks import CAPITAL, UPPER


def capitalize(word: str) -> str:
    """Capitalize the first letter that has an upper case: "(hello" → "(Hello"."""
    for place, letter in enumerate(word):
        if letter.upper() != letter:
            return word[:place] + letter.upper() + word[place + 1 :]
    return word


def mark_case(word: str) -> list[str]:
    """["paris"] → ["paris"], ["Paris"] → [CAPITAL, "paris"], ["NATO"] → [UPPER, "nato"].

    Words in any other form ("iPhone", "McDonald"), or whose case cannot be restored from lower case ("İstanbul"), stay
    as they are, so that restoring is always exact.
    """
    lower = word.lower()
    if lower == word:
        return [word]
    if capitalize(lower) == word:
        return [CAPITAL, lower]
    if lower.upper() == word:
        return [UPPER, lower]
    return [word]


def restore_case(pieces: Iterable[str]) -> list[str]:
    """The inverse of `mark_case` for a whole text; a mark with nothing after it is dropped."""
    words, mark = [], ""
    for piece in pieces:
        if piece in (CAPITAL, UPPER):
            mark = piece
            continue
        words.append(capitalize(piece) if mark == CAPITAL else piece.upper() if mark == UPPER else piece)
        mark = ""
    return words


_LETTERS = r"[^\W\d_]"
_WORD = re.compile(f"{_LETTERS}+")
_MARKED = re.compile(f"([{CAPITAL}{UPPER}])({_LETTERS}*)")


def mark_case_within(text: str) -> str:
    """Write marks into the text, before each run of letters, for units that ignore word boundaries."""
    return _WORD.sub(lambda match: "".join(mark_case(match[0])), text)


def restore_case_within(text: str) -> str:
    """The inverse of `mark_case_within`."""
    return _MARKED.sub(lambda match: "".join(restore_case([match[1], match[2]])), text)
