"""One column of a table answered, and the answers added as a new column.

regard predict runs/parser -f pairs.tsv --column premise --as premise_tree -o parsed.tsv
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from regard.cli.answering import CHUNK, refuse_output_as_file
from regard.cli.inputs import BadInputs
from regard.cli.loading import load_together
from regard.cli.options import Loading
from regard.cli.outputs import written
from regard.cli.unknown import UnknownUnits
from regard.data.readers import Row
from regard.data.readers.header import looks_like_header
from regard.data.readers.json_values import as_text, dig
from regard.data.readers.jsonl import JsonLinesReader, parse
from regard.data.readers.layout import SIGNS, Delimiter, Layout, Record, find_layout, records, sample_of
from regard.data.readers.lines import BLANK, read_lines
from regard.data.readers.opening import find
from regard.data.readers.rows import reader_of
from regard.data.readers.table import ROWS_BELOW, TableReader, is_blank
from regard.errors import RegardError
from regard.storage.files import check_apart

Answers = Callable[[list[Row]], list[str]]


def layout_of(path: Path, fields: Sequence[str], usual: Delimiter | None) -> Layout:
    """The layout of a table.

    usual   the delimiter to assume if none is found
    """
    sample, whole = sample_of(read_lines(path))
    return find_layout(sample, fields, whole=whole, usual=usual or "tab")


def add_column(
    run: Path,
    *,
    file: Path,
    column: str,
    name: str,
    output: Path | None,
    others: Sequence[Path],
    how: Loading,
    bad_rows: str | None = None,
    of: str | None = None,
) -> None:
    """Read a table, or JSON lines, and write it with the answers as the column `name`.

    column   the name, or the number from 1 in a table; a table without a header stays without one
    name     NAME, or NAME=OUTPUT if the model has several outputs
    """
    check_apart({"--output": output}, [file])
    model, ensemble = load_together(run, others, how)
    if len(model.spec.inputs) > 1:
        raise RegardError(
            "--column needs a model with one input.", fix="In Python, model.predict takes mappings."
        )
    refuse_output_as_file(model, output)
    new, _, chosen = name.partition("=")
    chosen = model.output_name(chosen or of, f"Write --as {new}={{}}")
    bad = BadInputs.of(bad_rows)
    path, unknown = find(file), UnknownUnits(model)

    def answers(rows: list[Row]) -> list[str]:
        """An answer for each row, empty for skipped rows."""
        usable = bad.usable(rows, model)
        unknown.look_at(usable)
        with bad.advised():
            found = model.predict(usable, output=chosen, trace=False, ensemble=ensemble)
        known = {row.line: answer.text for row, answer in zip(usable, found, strict=True)}
        return [known.get(row.line, "") for row in rows]

    source = next(iter(model.spec.inputs))
    reader = reader_of(str(path), None, (source, new))
    if not isinstance(reader, TableReader | JsonLinesReader):
        raise RegardError(
            "a column can be added only to tables of text and JSON lines.",
            where=str(path),
            fix="Convert the file to .tsv.",
        )
    with written(output) as target:
        if isinstance(reader, JsonLinesReader):
            _json_lines(answers, column, new, source, target, path, bad)
        else:
            _table(answers, column, new, source, target, path, bad, reader.usual)
    unknown.tell()
    bad.report()


def _table(
    answers: Answers,
    column: str,
    name: str,
    source: str,
    target: IO[str],
    path: Path,
    bad: BadInputs,
    usual: Delimiter | None,
) -> None:
    layout = layout_of(path, [column], usual)
    rows = records(read_lines(path), layout.delimiter, layout.quotes)
    write = _writer(layout, target)
    first = next((row for row in rows if not is_blank(row, layout.width)), None)
    below = list(islice(rows, ROWS_BELOW))
    rows = chain(below, rows)
    names = [cell.strip() for cell in first.cells] if first else []
    whole = [row.cells for row in below if len(row.cells) == len(names)]
    numbers = [str(number) for number in range(1, len(names) + 1)]
    headed = column in names or looks_like_header(names, whole)
    if first is not None and not headed:
        names, rows = numbers, chain([first], rows)
    if column not in names and column not in numbers:
        raise RegardError(
            f"there is no column {column!r}.",
            where=f"{path}:1",
            fix=f"The columns are {', '.join(names)}; a number counts them from 1.",
        )
    if headed and name in names:
        raise RegardError(
            f"the table already has a column {name!r}.", where=f"{path}:1", fix="Choose another name."
        )
    place = (names if column in names else numbers).index(column)
    if headed:
        write([*names, name])
    else:
        print(f"{path}: no header; the answers are the last column", file=sys.stderr)
    read = _usable(rows, len(names), path, bad)
    while chunk := list(islice(read, CHUNK)):
        given = [Row({source: row.cells[place]}, file=str(path), line=row.number) for row in chunk]
        for row, answer in zip(chunk, answers(given), strict=True):
            write([*row.cells, answer])


def _usable(rows: Iterator[Record], width: int, path: Path, bad: BadInputs) -> Iterator[Record]:
    for row in rows:
        if row.problem is None and is_blank(row, width):
            continue
        problem = row.problem
        if problem is None and len(row.cells) != width:
            problem = f"has {len(row.cells)} cells, expected {width}"
        if problem is None:
            yield row
        else:
            bad.refuse(RegardError(f"the row {problem}.", where=f"{path}:{row.number}"))


def _writer(layout: Layout, target: IO[str]) -> Callable[[list[str]], Any]:
    sign = SIGNS[layout.delimiter]
    if layout.quotes:
        return csv.writer(target, delimiter=sign, lineterminator="\n").writerow
    return lambda cells: print(sign.join(cells), file=target)


def _json_lines(
    answers: Answers, column: str, name: str, source: str, target: IO[str], path: Path, bad: BadInputs
) -> None:
    read = _records(column, path, bad)
    while chunk := list(islice(read, CHUNK)):
        given = [Row({source: text}, file=str(path), line=number) for _, text, number in chunk]
        for (record, _, _), answer in zip(chunk, answers(given), strict=True):
            print(json.dumps({**record, name: answer}, ensure_ascii=False), file=target)


def _records(column: str, path: Path, bad: BadInputs) -> Iterator[tuple[dict[str, Any], str, int]]:
    """The objects of a file, each with the text of a column and the line number."""
    for line in read_lines(path):
        problem, record = (line.problem, None) if line.problem else parse(line.text)
        if problem == BLANK:
            continue
        text = as_text(dig(record, column)) if record is not None else None
        if record is None:
            problem = f"the line {problem}"
        elif text is None:
            null = column in record or dig(record, column) is not None
            problem = f"{column!r} holds no text" if null else f"the object has no {column!r}"
        if record is None or text is None:
            fix = f"It has {', '.join(record)}." if record else ""
            bad.refuse(RegardError(f"{problem}.", where=f"{path}:{line.number}", fix=fix))
            continue
        whole: dict[str, Any] = json.loads(line.text)  # numbers stay numbers, to be written back unchanged
        yield whole, text, line.number
