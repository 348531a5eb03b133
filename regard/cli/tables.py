"""A table with one more column: a model's answers to another of its columns.

regard predict runs/parser -f pairs.tsv --column premise --as premise_tree -o parsed.tsv
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from regard.cli.answering import CHUNK, load, written
from regard.data.readers.opening import find, kind, opened
from regard.errors import RegardError

Answers = Callable[[list[str]], list[str]]
JSON_LINES = (".jsonl", ".ndjson", ".json")


def add_column(
    run: Path,
    *,
    file: Path,
    column: str,
    name: str,
    output: Path | None,
    overrides: Sequence[str],
    device: str | None,
) -> None:
    """Read a table with a header (tab-separated) or JSON lines, and write it with the answers as column `name`.

    name   NAME, or NAME=OUTPUT where the model has several outputs
    """
    model = load(run, overrides, device)
    if len(model.spec.inputs) > 1:
        raise RegardError(
            "--column takes a model of one input.", fix="In Python, model.predict takes mappings."
        )
    new, _, chosen = name.partition("=")

    def answers(texts: list[str]) -> list[str]:
        return [answer.text for answer in model.predict(texts, output=chosen or None, trace=False)]

    path = find(file)
    with opened(path) as source, written(output) as target:
        lines = _decoded(source, path)
        if kind(path) in JSON_LINES:
            _json_lines(answers, lines, column, new, target)
        else:
            _table(answers, lines, column, new, target, path)


def _table(
    answers: Answers, lines: Iterator[str], column: str, name: str, target: IO[str], path: Path
) -> None:
    header = next(lines, "").split("\t")
    if column not in header:
        raise RegardError(
            f"there is no column {column!r}.", where=f"{path}:1", fix=f"The columns are {', '.join(header)}."
        )
    if name in header:
        raise RegardError(
            f"there is a column {name!r} already.", where=f"{path}:1", fix="Choose another name."
        )
    place = header.index(column)
    print("\t".join([*header, name]), file=target)
    while chunk := [line.split("\t") for line in islice(lines, CHUNK)]:
        short = next((cells for cells in chunk if len(cells) <= place), None)
        if short is not None:
            raise RegardError(f"a row has {len(short)} cells, expected {len(header)}.", where=str(path))
        for cells, answer in zip(chunk, answers([cells[place] for cells in chunk]), strict=True):
            print("\t".join([*cells, answer]), file=target)


def _json_lines(answers: Answers, lines: Iterator[str], column: str, name: str, target: IO[str]) -> None:
    while chunk := [_record(line) for line in islice(lines, CHUNK)]:
        missing: Any = next((record for record in chunk if column not in record), None)
        if missing is not None:
            raise RegardError(f"an object has no {column!r}.", fix=f"It has {', '.join(missing)}.")
        for record, answer in zip(chunk, answers([str(record[column]) for record in chunk]), strict=True):
            print(json.dumps({**record, name: answer}, ensure_ascii=False), file=target)


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise RegardError(f"this is not JSON: {error}.", where=line[:60]) from None
    if not isinstance(record, dict):
        raise RegardError("this is JSON, but no object.", where=line[:60])
    return record


def _decoded(source: Any, path: Path) -> Iterator[str]:
    for number, raw in enumerate(source, 1):
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise RegardError(
                f"byte {error.start + 1} of the line is not UTF-8.", where=f"{path}:{number}"
            ) from None
