"""Tokenizer of the notation: from a line of text to numbers, names, subscripts and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
ITEM = re.compile(rf"\d+|(?:{LETTER}|[→←])′*")
OTHER = "other"
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
    text = line.split(NOTE, 1)[0].rstrip()
    found = list(scan(text))
    for token in found:
        if token.kind == OTHER:
            refuse(line, token.place, f"{token.text!r} is not a symbol of the notation")
        if token.kind == "-":
            refuse(line, token.place, "minus is written −")
    return [*found, Token("end", "the end of the line", text[-1:].isspace(), len(text))]


def scan(text: str) -> Iterator[Token]:
    """The tokens of any text, a note too; a character that is not of the notation has the kind `other`."""
    place, spaced = 0, False
    while place < len(text):
        match = PATTERN.match(text, place)
        kind, piece = (OTHER, text[place]) if match is None else (str(match.lastgroup), match.group())
        if kind != "space":
            yield Token(piece if kind == "sign" else kind, piece, spaced, place)
        spaced, place = kind == "space", place + len(piece)


def items_of(subscript: str) -> list[str]:
    """`_r1→` → r, 1, →: the items of a subscript without braces."""
    return ITEM.findall(subscript)


def refuse(line: str, place: int, why: str) -> NoReturn:
    raise NotationError(f"{why}:\n    {line}\n    {' ' * place}^")
