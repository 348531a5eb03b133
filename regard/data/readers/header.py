"""Whether the first row of a table is a header.

It is a header if every cell looks like a name (a few words, all distinct, no sentence, no number) and one of the
following holds:

    all cells are common names of columns (text, label, source, en …)
    a column below has numbers only, or sentences of three or more words under a shorter name
    a cell is a common name, and a column below has a few repeated labels, which do not include its first cell
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAMES = """
source src target tgt trg input inputs output outputs text texts sentence sentences sent phrase label labels class
classes category categories tag tags upos word words token tokens lemma question query answer title body content
description summary review comment message document sentiment score rating stars premise hypothesis caption transcript
pronunciation phonemes sound sounds spelling id idx index row split part
"""
_LANGUAGES = """
ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv nl no pl pt ro ru sk sl sr sv ta te th tr uk ur
vi zh arabic chinese czech dutch english finnish french german hindi italian japanese korean polish portuguese russian
spanish turkish
"""
USUAL, LANGUAGES = frozenset(_NAMES.split()), frozenset(_LANGUAGES.split())
MOST_WORDS, MOST_PIECES, LONGEST = 4, 3, 40
FEW_LABELS, REPEATS = 20, 3

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?%?", re.ASCII)
_SENTENCE_END = re.compile(r"[.!?…,;:。！？।]$|[\"“”«»]")


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip()) is not None


def looks_like_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """first: the cells of the first row; rows: the cells of some rows below, equally many each."""
    names = [cell.strip() for cell in first]
    if len(set(names)) < len(names) or not all(map(_is_name, names)) or list(first) in map(list, rows):
        return False
    if any(all(map(_is_usual, row)) for row in rows):
        return False  # the table itself contains such names
    if len(names) > 1 and all(map(_is_usual, names)):
        return True
    columns = [[row[place].strip() for row in rows] for place in range(len(names))]
    if any(_numbers_below(below) or _sentences_below(name, below) for name, below in _pairs(names, columns)):
        return True
    return any(map(_is_usual, names)) and any(
        _labels_below(name, below) for name, below in _pairs(names, columns)
    )


def _pairs(names: Sequence[str], columns: Sequence[Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    return list(zip(names, columns, strict=True))


def _is_name(cell: str) -> bool:
    words = cell.split()
    return (
        0 < len(words) <= MOST_WORDS
        and len(cell) <= LONGEST
        and not is_number(cell)
        and _SENTENCE_END.search(cell) is None
    )


def _is_usual(cell: str) -> bool:
    """Whether a cell is a common name: text, Text, sentence1, sentence_A, entailment_label, "review text", en"""
    pieces = re.split(r"[\s_.-]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cell.strip()).lower())
    if len(pieces) > MOST_PIECES or not all(pieces):
        return False
    words = [piece.rstrip("0123456789") for piece in pieces]
    return (len(pieces) == 1 and pieces[0] in LANGUAGES) or (
        (all(words) or " " not in cell.strip()) and any(map(USUAL.__contains__, words))
    )


def _numbers_below(below: Sequence[str]) -> bool:
    return len(below) > 1 and all(map(is_number, below))


def _sentences_below(name: str, below: Sequence[str]) -> bool:
    return len(below) >= 10 and len(name.split()) < 3 <= min(len(cell.split()) for cell in below)


def _labels_below(name: str, below: Sequence[str]) -> bool:
    kinds = set(below)
    return name not in kinds and len(kinds) <= FEW_LABELS and len(below) >= REPEATS * len(kinds)
