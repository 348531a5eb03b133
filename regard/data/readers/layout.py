"""The layout of a table, its delimiter and its use of quotes, inferred from the first lines.

The delimiter is one of tab, comma, semicolon and pipe. A delimiter with which the first row names all fields comes
first; then one that is no decimal comma; then the one that splits most lines into equally many cells, at least two.
Ties are broken by the number of fields, then by the extension of the file.

Quotes follow RFC 4180. Between tabs they are often part of the text. There they enclose cells only if all of them are
closed and either one is required (around a tab, a line end or a doubled quote) or a whole column is quoted. With any
delimiter, quotes that span several lines are part of the text if every line is a complete row by itself.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from regard.data.readers.files import Line

RANGE = ".."
Delimiter = Literal["tab", "comma", "semicolon", "pipe"]
SIGNS: dict[Delimiter, str] = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
SAMPLE_LINES, SAMPLE_LENGTH = 1000, 1 << 18
"""Size of the sample to inspect, in lines and in characters."""
ENOUGH = 0.5
"""Minimum share of lines that a delimiter must split alike."""
UNCLOSED = "opens a quote that is not closed"
MISPLACED = "has a misplaced quote"
PLAIN = "`quotes: false` in data.format reads quotes as text"
_COMMA = re.compile(r"(?<!\d),|,(?!\d)")


def ends(field: str, names: Sequence[str]) -> tuple[str, str] | None:
    """The first and the last column of a range; None if the field names a single column."""
    found = field.split(RANGE)
    return (found[0], found[1]) if len(found) == 2 and all(found) and field not in names else None


def ends_of(fields: Sequence[str], names: Sequence[str]) -> list[str]:
    """The fields, with the first and last column in place of each range."""
    return [end for field in fields for end in ends(field, names) or (field,)]


class Record(NamedTuple):
    """A row of a table: its cells, first line number, text, and why it could not be split into cells."""

    cells: list[str]
    number: int
    text: str
    problem: str | None = None

    def is_blank(self, width: int) -> bool:
        """Whether it is empty or has only delimiters, as editors and spreadsheets leave them."""
        return not any(self.cells) or (len(self.cells) < width and not self.text.strip())


@dataclass(frozen=True)
class Layout:
    """found: whether the delimiter occurs in the table, as opposed to being assumed; width: cells of most rows."""

    delimiter: Delimiter
    quotes: bool
    width: int
    found: bool


def records(lines: Iterable[Line], delimiter: Delimiter, quotes: bool) -> Iterator[Record]:
    """The rows of a table; a blank line is a row without cells."""
    if quotes:
        yield from _quoted(lines, SIGNS[delimiter])
        return
    sign = SIGNS[delimiter]
    for number, text, problem, _ in lines:
        yield Record(text.split(sign) if text else [], number, text, problem)


def _quoted(lines: Iterable[Line], sign: str) -> Iterator[Record]:
    """Rows by the rules of CSV. If a quote is never closed, its line is a bad row, and the next line starts a row."""
    taken: list[Line] = []
    again: deque[Line] = deque()
    more = iter(lines)

    def texts() -> Iterator[str]:
        while (line := again.popleft() if again else next(more, None)) is not None:
            taken.append(line)
            yield line.text + (line.end or "\n")

    parser = csv.reader(texts(), delimiter=sign, strict=True)
    while True:
        taken.clear()
        try:
            cells = next(parser)
        except StopIteration:
            return
        except csv.Error as error:
            parser = csv.reader(texts(), delimiter=sign, strict=True)
            bad, problem = list(taken), f"{MISPLACED} ({error}); {PLAIN}"
            if "end of data" in str(error):
                bad, problem = taken[:1], f"{UNCLOSED}; {PLAIN}"
                again.extend(taken[1:])
            elif len(bad) > 1:
                problem = f"{MISPLACED} in lines {bad[0].number} to {bad[-1].number} ({error}); {PLAIN}"
            for line in bad:
                yield Record([], line.number, line.text, problem)
            continue
        text = "\n".join(line.text for line in taken)
        wrong = next((line.problem for line in taken if line.problem), None)
        yield Record(cells, taken[0].number, text, wrong)


def sample_of(lines: Iterable[Line]) -> tuple[list[Line], bool]:
    """The first lines of a table, and whether they are all of it."""
    taken: list[Line] = []
    length = 0
    for line in lines:
        if len(taken) == SAMPLE_LINES or length > SAMPLE_LENGTH:
            return taken, False
        taken.append(line)
        length += len(line.text)
    return taken, True


def find_layout(
    sample: Sequence[Line],
    fields: Sequence[str],
    *,
    whole: bool,
    usual: Delimiter = "tab",
    delimiter: Delimiter | None = None,
    quotes: bool | None = None,
) -> Layout:
    """The layout of a table, from a sample of its first lines.

    whole               whether the sample is the whole table
    usual               the delimiter to assume if none is found
    delimiter, quotes   known values, which are not inferred
    """
    candidates = [_Candidate(sample, one, quotes, whole) for one in ([delimiter] if delimiter else SIGNS)]
    best = max(candidates, key=lambda one: one.merit(fields, usual))
    if delimiter is None and best.share < ENOUGH and not best.names(fields):
        best = next(one for one in candidates if one.delimiter == usual)
        return Layout(usual, best.quotes, best.commonest, found=False)
    return Layout(best.delimiter, best.quotes, best.width or best.commonest, found=best.share >= ENOUGH)


class _Candidate:
    """A sample split by one delimiter."""

    def __init__(
        self, sample: Sequence[Line], delimiter: Delimiter, quotes: bool | None, whole: bool
    ) -> None:
        self.delimiter = delimiter
        self.quotes = _has_quotes(sample, delimiter, whole) if quotes is None else quotes
        cut = _records(sample, delimiter, self.quotes, whole)
        self.first = [cell.strip() for cell in cut[0].cells] if cut else []
        counts = Counter(len(one.cells) for one in cut)
        self.commonest = counts.most_common(1)[0][0] if counts else 0
        several = [(count, width) for width, count in counts.items() if width > 1]
        count, self.width = max(several, default=(0, 0))
        self.share = count / max(len(cut), 1)
        self.decimal = delimiter == "comma" and not any(_COMMA.search(line.text) for line in sample)
        """Whether all commas stand between digits, like decimal commas."""

    def names(self, fields: Sequence[str]) -> bool:
        """Whether the first row names all fields."""
        named = [field for field in ends_of(fields, self.first) if not field.isdecimal()]
        return len(self.first) > 1 and bool(named) and all(field in self.first for field in named)

    def merit(self, fields: Sequence[str], usual: Delimiter) -> tuple[bool | float, ...]:
        return (
            self.names(fields),
            self.share >= ENOUGH and not self.decimal,
            round(self.share, 1),
            self.width == len(fields),
            self.delimiter == usual,
            self.delimiter != "comma",
        )


def _records(sample: Sequence[Line], delimiter: Delimiter, quotes: bool, whole: bool) -> list[Record]:
    """The rows with content, without the last one if the sample may cut it off."""
    cut = list(records(sample, delimiter, quotes))
    if not whole:
        last = next(
            (i for i, one in enumerate(cut) if (one.problem or "").startswith(UNCLOSED)), len(cut) - 1
        )
        cut = cut[:last]
    return [one for one in cut if one.text]


def _has_quotes(sample: Sequence[Line], delimiter: Delimiter, whole: bool) -> bool:
    if delimiter == "comma" or not any('"' in line.text for line in sample):
        return delimiter != "tab"
    quoted = _records(sample, delimiter, True, whole)
    if any(one.problem and one.problem.startswith((UNCLOSED, MISPLACED)) for one in quoted):
        return False
    plain = _records(sample, delimiter, False, whole)
    if len(quoted) < len(plain) and _alike(quoted) <= _alike(plain):
        return False  # lines are complete rows by themselves: quotes that span them are part of the text
    if delimiter != "tab":
        return True
    return _alike(quoted) >= _alike(plain) and (_needed(sample) or _whole_column(plain))


def _alike(rows: Sequence[Record]) -> float:
    """The share of rows with the most common number of cells."""
    counts = Counter(len(one.cells) for one in rows)
    return counts.most_common(1)[0][1] / len(rows) if rows else 0.0


def _needed(sample: Sequence[Line]) -> bool:
    text = "".join(line.text + "\n" for line in sample)
    cells = re.finditer(r'(?:^|(?<=\t))"((?:[^"]|"")*)"(?=\t|\n)', text, re.MULTILINE)
    return any(re.search(r'[\t\n\r]|""', cell[1]) for cell in cells)


def _whole_column(rows: Sequence[Record]) -> bool:
    """Whether all cells of some column are quoted."""
    width = max((len(one.cells) for one in rows), default=0)
    return any(
        all(
            place < len(one.cells)
            and len(one.cells[place]) > 1
            and one.cells[place].startswith('"')
            and one.cells[place].endswith('"')
            for one in rows
        )
        for place in range(width)
    )
