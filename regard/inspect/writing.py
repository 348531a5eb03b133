"""Labels as text: their width, their direction, and signs for invisible characters."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache

from rich.cells import cell_len

from regard.reporting.terminal import printable

_VISIBLE = {"": "∅", " ": "␣", "\u00a0": "⍽", "\u3000": "␣", "\t": "⇥", "\n": "⏎", "\r": "␍"}
JOINER = "￭"
"""Marks the side of a word on which there was no blank (`split: punctuation`)."""
_NARROW = frozenset("iljtfI.,;:'|!()[]{}/\\-` \u00a0")
_BROAD = frozenset("mwMW@%<>—…")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


@lru_cache(maxsize=4096)  # a figure asks for the label of a row or column at each of its cells
def visible(piece: str) -> str:
    """A piece as a visible label: without joiners, blanks as a sign, a lone combining mark on a base."""
    piece = piece.strip(JOINER) or piece
    if piece in _VISIBLE:
        return _VISIBLE[piece]
    piece = "".join(
        _VISIBLE.get(character, character) if character in "\t\n\r" else character for character in piece
    )
    piece = printable(piece)
    return "◌" + piece if unicodedata.category(piece[0]).startswith("M") else piece


def spaced(pieces: Iterable[str]) -> str:
    """Words as running text: a joiner (`split: punctuation`) takes the place of a blank."""
    text, joined = "", True
    for piece in pieces:
        bare = piece.strip(JOINER)
        text += ("" if joined or (bare and piece.startswith(JOINER)) else " ") + visible(piece)
        joined = bool(bare) and piece.endswith(JOINER)
    return text


def is_special(piece: str) -> bool:
    """Whether a piece is a special entry of the vocabulary (</s>, <unk>), not part of the text."""
    return len(piece) > 2 and piece[0] == "<" and piece[-1] == ">"


def right_to_left(text: str) -> bool:
    """Whether the text runs right to left, by its first letter with a direction (rule P2 of Unicode)."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return False


def linked(parts: Iterable[str], sign: str) -> str:
    """The parts joined by a sign, in this order on the page, whatever the direction of each part.

    Between two right-to-left texts, the sign would be reversed and the output would precede the input; direction marks
    (U+200E) prevent this.
    """
    found = list(parts)
    if any(unicodedata.bidirectional(character) in ("R", "AL") for part in found for character in part):
        return "\u200e" + f" \u200e{sign}\u200e ".join(found)
    return f" {sign} ".join(found)


def runs_right_to_left(pieces: tuple[str, ...]) -> bool:
    """Whether to lay out pieces from right to left: most pieces with a direction are right-to-left."""
    directed = [piece for piece in pieces if not is_special(piece) and any(map(_has_direction, piece))]
    return 2 * sum(map(right_to_left, directed)) > len(directed)


def _has_direction(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("L", "R", "AL")


def clusters(text: str) -> list[str]:
    """The text split into visible characters; combining marks, joiners and Indic conjuncts stay together.

    A simple approximation of Unicode's grapheme clusters (UAX 29), sufficient to stack the letters of a word
    vertically.
    """
    result: list[str] = []
    for character in text:
        attached = bool(result) and (
            unicodedata.category(character).startswith("M")
            or character in _JOINERS
            or 0x1F3FB <= ord(character) <= 0x1F3FF  # skin tones
            or result[-1].endswith("\u200d")
            or (_is_flag(character) and len(result[-1]) == 1 and _is_flag(result[-1]))
            or unicodedata.combining(result[-1][-1]) == 9  # virama: the next consonant joins
        )
        if attached:
            result[-1] += character
        else:
            result.append(character)
    return result


def _is_flag(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF  # two of these letters make one flag


def shorten(text: str, width: int) -> str:
    """The text in at most `width` terminal cells, with … in place of the part that is cut."""
    text = printable(text)
    if cell_len(text) <= width:
        return text
    kept = ""
    for cluster in clusters(text):
        if cell_len(kept + cluster) > width - 1:
            break
        kept += cluster
    return kept + "…" if width > 0 else ""


def shorten_words(text: str, width: int) -> str:
    """Like `shorten`, but cut between words; within a word only if it alone fills half the width."""
    short = shorten(text, width)
    kept = short.removesuffix("…")
    if short == printable(text) or printable(text)[len(kept) : len(kept) + 1].isspace():
        return short
    words, blank, _ = kept.rpartition(" ")
    return f"{words.rstrip()}…" if blank and 2 * cell_len(words) >= width else short


@cache
def _advance(character: str) -> float:
    """The approximate width of a character in em, for a plain sans-serif: layout leaves room, renderers draw
    exactly."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.06 if ord(character) < 0x1F000 else 1.3
    if character in _NARROW:
        return 0.33
    if character in _BROAD:
        return 0.88
    if character.isascii():
        return 0.68 if character.isupper() else 0.57
    return 0.66


def text_width(text: str, size: float) -> float:
    """The approximate width of the text at a font size, in the unit of the size."""
    return size * _ems(text)


@lru_cache(maxsize=4096)
def _ems(text: str) -> float:
    return sum(_cluster_advance(cluster) for cluster in clusters(text))


def _cluster_advance(cluster: str) -> float:
    if len(cluster) > 1 and (cluster[-1] == "\ufe0f" or "\u200d" in cluster or _is_flag(cluster[0])):
        return 1.3  # an emoji, whatever its number of characters
    return sum(map(_advance, cluster))


ASCII_WIDTHS = (
    30, 34, 41, 70, 60, 92, 72, 23, 36, 36, 44, 71, 30, 35, 30, 31, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 31, 31, 71,
    71, 71, 54, 101, 68, 68, 71, 75, 65, 59, 78, 74, 29, 40, 66, 56, 85, 74, 78, 64, 78, 71, 65, 61, 73, 68, 97, 68, 64,
    65, 33, 31, 33, 65, 53, 42, 58, 60, 52, 60, 59, 31, 60, 59, 25, 25, 54, 25, 90, 59, 58, 60, 60, 37, 51, 33, 59, 55,
    77, 55, 55, 51, 49, 30, 49, 71,
)  # fmt: skip
"""Hundredths of an em from blank to ~: the mean of a wide and a narrow font (DejaVu Sans, Liberation Sans)."""


def running_width(text: str, size: float) -> float:
    """The width of running text, letter by letter, for a `Text` that fills it: its letters stay evenly spaced."""
    found = 0.0
    for cluster in clusters(text):
        known = len(cluster) == 1 and " " <= cluster <= "~"
        found += ASCII_WIDTHS[ord(cluster) - 32] / 100 if known else _cluster_advance(cluster)
    return size * found


def wrap(text: str, width: float, size: float, *, lines: int = 3) -> list[str]:
    """The text in at most `lines` lines of about `width`; the rest is cut with …

    Lines break at blanks, or within a word that is wider than a line, as in scripts without blanks.
    """
    result: list[str] = []
    for word in text.split(" "):
        if len(result) > lines:
            break
        if result and text_width(f"{result[-1]} {word}", size) <= width:
            result[-1] += f" {word}"
            continue
        result.append("")
        advance = 0.0  # width of the line so far, in em
        for cluster in clusters(word):
            advance += (wide := _cluster_advance(cluster))
            if result[-1] and size * advance > width:
                result.append("")
                advance = wide
            result[-1] += cluster
    if len(result) > lines:
        result = [*result[: lines - 1], result[lines - 1] + "…"]
    return result


def signed(value: float, decimals: int) -> str:
    """A number with a true minus sign, which is as wide as a digit; "−∞" for negative infinity."""
    text = f"{value:.{decimals}f}" if math.isfinite(value) else f"{value}".replace("inf", "∞")
    return text.replace("-", "−")
