"""Tables: their rows as inputs, and a table with one more column, a model's answers to another of its columns.

regard predict runs/g2p -f words.csv
regard predict runs/parser -f pairs.tsv --column premise --as premise_tree -o parsed.tsv
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from regard.cli.answering import CHUNK, json_text, load, written
from regard.data.readers.jsonl import parse
from regard.data.readers.opening import find, kind, opened
from regard.data.readers.rows import read_rows
from regard.errors import RegardError
from regard.model import Model
from regard.sources import file_fields

Answers = Callable[[list[str]], list[str]]
JSON_LINES = (".jsonl", ".ndjson", ".json")
COMMAS = (".csv",)
TABLES = (".tsv", ".tab", *COMMAS, ".parquet")


def is_table(file: str | Path) -> bool:
    return kind(file) in TABLES


def table_inputs(model: Model, file: Path) -> Iterator[Any]:
    """The inputs of each row: by a header, or the first cells, with or without the others the model learned from."""
    fields = {name: model.columns[name].field for name in model.spec.inputs}
    wanted = list(dict.fromkeys(fields.values()))
    rows = read_rows(file, fields=wanted)
    first = next(rows.with_problems(), None)
    if first is not None and first.problem is not None:
        whole = read_rows(file, fields=file_fields(model.spec))
        first = next(whole.with_problems(), None)
        rows = whole if first is not None and first.problem is None else rows
    for row in rows.with_problems():
        if row.problem is not None:
            raise RegardError(f"the row {row.problem}.", where=row.where, fix="Correct the row.")
        found = {name: row[field] for name, field in fields.items()}
        yield found if len(found) > 1 else next(iter(found.values()))


def add_column(
    run: Path,
    *,
    file: Path,
    column: str,
    name: str,
    output: Path | None,
    others: Sequence[Path],
    overrides: Sequence[str],
    device: str | None,
) -> None:
    """Read a table with a header (tabs or commas) or JSON lines, and write it with the answers as column `name`.

    name   NAME, or NAME=OUTPUT where the model has several outputs
    """
    model, *ensemble = (load(one, overrides, device) for one in (run, *others))
    if len(model.spec.inputs) > 1:
        raise RegardError(
            "--column takes a model of one input.", fix="In Python, model.predict takes mappings."
        )
    new, _, chosen = name.partition("=")

    def answers(texts: list[str]) -> list[str]:
        found = model.predict(texts, output=chosen or None, trace=False, ensemble=ensemble)
        return [answer.text for answer in found]

    path = find(file)
    if kind(path) == ".parquet":
        raise RegardError(
            "a column can be added to tabs, commas and JSON lines.", where=str(path), fix="Write it as .tsv."
        )
    with opened(path) as source, written(output) as target:
        lines = _decoded(source, path)
        if kind(path) in JSON_LINES:
            _json_lines(answers, lines, column, new, target, path)
        else:
            _table(answers, lines, column, new, target, path)


def _table(
    answers: Answers, lines: Iterator[str], column: str, name: str, target: IO[str], path: Path
) -> None:
    rows, write = _with_commas(lines, target) if kind(path) in COMMAS else _with_tabs(lines, target)
    header = next(rows, [])
    if column not in header:
        raise RegardError(
            f"there is no column {column!r}.", where=f"{path}:1", fix=f"The columns are {', '.join(header)}."
        )
    if name in header:
        raise RegardError(
            f"there is a column {name!r} already.", where=f"{path}:1", fix="Choose another name."
        )
    place, numbered = header.index(column), enumerate(rows, 2)
    write([*header, name])
    while chunk := list(islice(numbered, CHUNK)):
        for number, cells in chunk:
            if len(cells) != len(header):
                raise RegardError(
                    f"the row has {len(cells)} cells, expected {len(header)}.", where=f"{path}, row {number}"
                )
        for (_, cells), answer in zip(chunk, answers([cells[place] for _, cells in chunk]), strict=True):
            write([*cells, answer])


def _with_tabs(lines: Iterator[str], target: IO[str]) -> tuple[Iterator[list[str]], Callable[..., Any]]:
    return (line.split("\t") for line in lines), lambda cells: print("\t".join(cells), file=target)


def _with_commas(lines: Iterator[str], target: IO[str]) -> tuple[Iterator[list[str]], Callable[..., Any]]:
    return csv.reader(f"{line}\n" for line in lines), csv.writer(target, lineterminator="\n").writerow


def _json_lines(
    answers: Answers, lines: Iterator[str], column: str, name: str, target: IO[str], path: Path
) -> None:
    numbered = enumerate(lines, 1)
    while chunk := [_record(line, column, f"{path}:{number}") for number, line in islice(numbered, CHUNK)]:
        for (record, _), answer in zip(chunk, answers([text for _, text in chunk]), strict=True):
            print(json.dumps({**record, name: answer}, ensure_ascii=False), file=target)


def _record(line: str, column: str, where: str) -> tuple[dict[str, Any], Any]:
    """The object, and the value to answer as data have it."""
    problem, record = parse(line)
    if record is None:
        raise RegardError(f"the line {problem}.", where=where)
    if column not in record:
        raise RegardError(f"the object has no {column!r}.", where=where, fix=f"It has {', '.join(record)}.")
    whole: dict[str, Any] = json.loads(line)  # numbers as numbers, to be written as they came
    return whole, json_text(record[column], column, where)


def _decoded(source: Any, path: Path) -> Iterator[str]:
    for number, raw in enumerate(source, 1):
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise RegardError(
                f"byte {error.start + 1} of the line is not UTF-8.", where=f"{path}:{number}"
            ) from None
