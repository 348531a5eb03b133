"""The rows of a table, to be written back with a new column."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from regard.data.readers.cells import ROWS_BELOW, looks_like_header
from regard.data.readers.entries import Entries, Entry, left_out
from regard.data.readers.files import read_lines
from regard.data.readers.layout import SIGNS, Delimiter, Layout, Record, find_layout, records, sample_of
from regard.errors import RegardError


def table_entries(path: Path, column: str, new: str, usual: Delimiter) -> Entries:
    """The header, if there is one, and the rows with the value of a column; a number counts the columns from 1.

    usual   the delimiter to assume if none is found
    """
    sample, whole = sample_of(read_lines(path))
    layout = find_layout(sample, [column], whole=whole, usual=usual)
    rows = records(read_lines(path), layout.delimiter, layout.quotes)
    first = next((row for row in rows if not row.is_blank(layout.width)), None)
    below = list(islice(rows, ROWS_BELOW))
    rows = chain(below, rows)
    names = [cell.strip() for cell in first.cells] if first else []
    numbers = [str(number) for number in range(1, len(names) + 1)]
    headed = column in names or looks_like_header(
        names, [row.cells for row in below if len(row.cells) == len(names)]
    )
    if first is not None and not headed:
        names, rows = numbers, chain([first], rows)
    if column not in names and column not in numbers:
        raise RegardError(
            f"there is no column {column!r}.",
            where=f"{path}:1",
            fix=f"The columns are {', '.join(names)}; a number counts them from 1.",
        )
    if headed and new in names:
        raise RegardError(
            f"the table already has a column {new!r}.", where=f"{path}:1", fix="Choose another name."
        )
    place = (names if column in names else numbers).index(column)
    line = _writer(layout)
    header = [Entry(1, {}, lambda values: line([*names, new]))] if headed else []
    told = [] if headed else [f"{path}: no header; the answers are the last column"]
    return Entries(chain(header, _rows(rows, names, place, column, new, line)), told)


def _rows(
    rows: Iterator[Record],
    names: Sequence[str],
    place: int,
    column: str,
    new: str,
    line: Callable[[list[str]], str],
) -> Iterator[Entry]:
    for row in rows:
        if row.problem is None and row.is_blank(len(names)):
            continue
        problem = row.problem
        if problem is None and len(row.cells) != len(names):
            problem = f"has {len(row.cells)} cells, expected {len(names)}"
        if problem is not None:
            yield Entry(row.number, {}, left_out, f"the row {problem}")
            continue

        def written(values: Mapping[str, str], cells: list[str] = row.cells) -> str:
            return line([*cells, values[new]])

        yield Entry(row.number, {column: row.cells[place]}, written)


def _writer(layout: Layout) -> Callable[[list[str]], str]:
    sign = SIGNS[layout.delimiter]
    if not layout.quotes:
        return lambda cells: sign.join(cells) + "\n"

    def quoted(cells: list[str]) -> str:
        made = io.StringIO()
        csv.writer(made, delimiter=sign, lineterminator="\n").writerow(cells)
        return made.getvalue()

    return quoted
