"""The cells of a table: whether the first row is a header, and which cells each field reads.

The first row is a header if every cell looks like a name (a few words, all distinct, no sentence, no number) and one of
the following holds:

    all cells are common names of columns (text, label, source, en …)
    a column below has numbers only, or sentences of three or more words under a shorter name
    a cell is a common name, and a column below has a few repeated labels, which do not include its first cell
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from regard.data.readers.layout import Record, ends, ends_of
from regard.data.readers.row import Row
from regard.errors import NAME, Message, RegardError, ShellCommand

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
ROWS_BELOW = 200
"""Number of rows to compare with the first one to see whether it is a header."""
MOST_WORDS, MOST_PIECES, LONGEST = 4, 3, 40
FEW_LABELS, REPEATS = 20, 3

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?%?", re.ASCII)
_SENTENCE_END = re.compile(r"[.!?…,;:。！？।]$|[\"“”«»]")
SHOWN = 30
CHOOSING = ShellCommand(
    "train",
    ("FILE",),
    {"source": NAME, "target": NAME},
    python="regard.fit(FILE, source=NAME, target=NAME)",
)
IN_A_SPEC = "in a spec, set `field` of each column, or list all columns in data.fields."


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


@dataclass(frozen=True)
class Cells:
    """The assignment of cells to fields.

    fields, places   each field and the index of its cell, from 0; the first and last index for a range of cells
    width            number of cells of a row
    names            names of all cells: from the header, else the fields, else numbers from 1
    header           whether the first row is a header
    named            whether the fields were found by name or number
    """

    fields: tuple[str, ...]
    places: tuple[int | tuple[int, int], ...]
    width: int
    names: tuple[str, ...]
    header: bool
    named: bool

    def usual(self, record: Record, file: str) -> Row | None:
        """The row of a record that is as expected; None: `row` must look closer."""
        cells, number, _, problem = record
        if problem is not None or len(cells) != self.width or self._single is None or not any(cells):
            return None
        return Row({field: cells[place] for field, place in self._single}, file=file, line=number)

    @cached_property
    def _single(self) -> tuple[tuple[str, int], ...] | None:
        """Each field and the index of its cell; None if a field is a range."""
        found = zip(self.fields, self.places, strict=True)
        single = [(field, place) for field, place in found if isinstance(place, int)]
        return tuple(single) if len(single) == len(self.fields) else None

    def row(self, record: Record, file: str, separated: str) -> Row:
        count = len(record.cells)
        problem = record.problem
        if problem is None and count != self.width:
            counted = f"{count} {separated}-separated cell{'' if count == 1 else 's'}"
            problem = f"has {counted}, expected {self.width} ({', '.join(self.names)})"
        if problem is not None:
            return Row(file=file, line=record.number, problem=problem, source=record.text)
        values = {}
        for field, place in zip(self.fields, self.places, strict=True):
            if isinstance(place, int):
                values[field] = record.cells[place]
                continue
            cells = record.cells[place[0] : place[1] + 1]
            empty = next((at for at, cell in enumerate(cells, place[0]) if not cell.strip()), None)
            if empty is not None:
                problem = f"has an empty cell {self.names[empty]} within {field}"
                return Row(file=file, line=record.number, problem=problem, source=record.text)
            values[field] = " ".join(cell.strip() for cell in cells)
        return Row(values, file=file, line=record.number)


def assign(
    first: Sequence[str],
    fields: Sequence[str],
    *,
    width: int,
    header: bool,
    where: str,
    order: Sequence[str] = (),
) -> Cells:
    """Assign fields to cells: by the names in the first row, by numbers from 1, or else in order.

    header   whether the first row looks like a header, even if it does not name the fields
    order    names of all cells, for a table without a header that has more cells than fields
    """
    names = tuple(cell.strip() for cell in first)
    if any(ends(field, names) for field in fields):
        return _with_ranges(first, fields, width=width, header=header, where=where)
    # A decimal field is a column number, even if a cell of the first row equals it.
    lacking = [field for field in fields if field.isdecimal() or field not in names]
    if not lacking:
        places = tuple(names.index(field) for field in fields)
        return Cells(tuple(fields), places, len(names), names, header=True, named=True)
    shown = names if header else tuple(map(str, range(1, width + 1)))
    if all(field.isdecimal() and 1 <= int(field) <= width for field in lacking):
        places = tuple(int(field) - 1 if field in lacking else names.index(field) for field in fields)
        return Cells(tuple(fields), places, width, shown, header, named=True)
    if len(lacking) < len(fields):
        raise _lacks(names, lacking, where)
    for wanted in (fields, order):
        if len(wanted) == width and all(field in wanted for field in fields):
            places = tuple(list(wanted).index(field) for field in fields)
            return Cells(tuple(fields), places, width, tuple(wanted), header, named=False)
    wanted = f"{len(fields)} {'is' if len(fields) == 1 else 'are'} needed ({', '.join(fields)})"
    raise RegardError(
        f"the table has {width} column{'' if width == 1 else 's'}, but {wanted}: "
        f"{listed(first, header=header)}.",
        where=where,
        fix=Message("Choose the columns by name or number from 1: `", CHOOSING, "`; ", IN_A_SPEC),
    )


def _with_ranges(
    first: Sequence[str], fields: Sequence[str], *, width: int, header: bool, where: str
) -> Cells:
    names = [cell.strip() for cell in first]
    single = assign(first, ends_of(fields, names), width=width, header=header, where=where)
    cells = dict(zip(single.fields, single.places, strict=True))
    places: list[Any] = []
    for field in fields:
        both = ends(field, names)
        place: Any = cells[field] if both is None else (cells[both[0]], cells[both[1]])
        if both is not None and place[0] >= place[1]:
            raise RegardError(f"the range {field} is empty.", where=where, fix="Write FIRST..LAST.")
        places.append(place)
    return Cells(tuple(fields), tuple(places), single.width, single.names, single.header, single.named)


def _lacks(names: Sequence[str], lacking: Sequence[str], where: str) -> RegardError:
    nearest = get_close_matches(lacking[0], names, n=1)
    return RegardError(
        f"the header has {', '.join(names)}, but no {' and no '.join(lacking)}.",
        where=f"{where}:1",
        fix=f"Rename {nearest[0]!r} to {lacking[0]!r}."
        if nearest
        else "Give the columns the names that the spec uses.",
    )


def listed(first: Sequence[str], *, header: bool) -> str:
    """The columns of a table: their names, else their numbers with the content of the first row."""
    cells = [" ".join(cell.split()) for cell in first]
    if header:
        return ", ".join(cells)
    short = [cell if len(cell) <= SHOWN else f"{cell[:SHOWN]}…" for cell in cells]
    return ", ".join(f"{number} ({cell})" for number, cell in enumerate(short, 1))
