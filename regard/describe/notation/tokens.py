"""Tokenizer of the notation: from a line of text to numbers, names, subscripts and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

LETTER = r"[^\W\d_²Σ][\u0300-\u036f]*"
PATTERN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<subscript>_(?:{LETTER}|[\d→←′])+)
  | (?P<name>[→←]?(?:{LETTER})+′*)
  | (?P<arrow>[→←])
  | (?P<sign>_\{{|[-+−·⊙*⋆/^|=≠<≤>≥∈()\[\]{{}},;:…²√Σ↓])
    """,
    re.VERBOSE,
)
NOTE = "—"
"""Starts a note for the reader, which is skipped."""


class NotationError(ValueError):
    """A line that cannot be parsed, or a part of it that cannot be evaluated."""


@dataclass(frozen=True)
class Token:
    """kind is number, name, subscript, arrow or the sign itself; `spaced` is whether a space precedes it."""

    kind: str
    text: str
    spaced: bool
    place: int


def tokens(line: str) -> list[Token]:
    """The tokens of a line, without its note; the last one has the kind `end`."""
    found, place, spaced = [], 0, False
    text = line.split(NOTE, 1)[0].rstrip()
    while place < len(text):
        match = PATTERN.match(text, place)
        if match is None:
            refuse(line, place, f"{text[place]!r} is not a symbol of the notation")
        kind, piece = str(match.lastgroup), match.group()
        if kind == "sign" and piece == "-":
            refuse(line, place, "minus is written −")
        if kind != "space":
            found.append(Token(piece if kind == "sign" else kind, piece, spaced, place))
        spaced, place = kind == "space", match.end()
    return [*found, Token("end", "the end of the line", spaced, place)]


def refuse(line: str, place: int, why: str) -> NoReturn:
    raise NotationError(f"{why}:\n    {line}\n    {' ' * place}^")
