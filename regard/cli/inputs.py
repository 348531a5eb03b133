"""The inputs of `regard predict`, from the command line, a file or standard input, and unreadable ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.data import Row
from regard.data.columns import AudioColumn, ImageColumn, SeriesColumn, VideoColumn
from regard.data.readers.json_values import as_text, dig, has_half_pair
from regard.data.readers.jsonl import refuse_constant
from regard.data.readers.lines import stream_lines
from regard.data.readers.opening import kind
from regard.errors import RegardError
from regard.model import Model
from regard.model.inputs import INPUT_REMEDY

ADVICE = "`--bad-rows skip` answers the rest."
MOST_SHOWN = 5
JSON_LINES = (".jsonl", ".ndjson", ".json")


def as_inputs(model: Model, words: Sequence[str]) -> list[Any]:
    """The inputs after RUN on the command line: all words as one text, or each as a file if the model reads files.

    If the model has several inputs, there is one word for each of them, or a line as in a file.
    """
    by_name = [model.columns[name] for name in model.spec.inputs]
    if len(by_name) > 1 and len(words) == len(by_name):
        return [dict(zip(model.spec.inputs, words, strict=True))]
    if len(by_name) == 1 and isinstance(by_name[0], ImageColumn | VideoColumn | AudioColumn | SeriesColumn):
        return list(words)
    return [parse_line(" ".join(words), "the text", model)] if words else []


class BadInputs:
    """How to treat inputs that cannot be answered: stop at the first one, or skip and count them."""

    def __init__(self, *, skip: bool) -> None:
        self.skip = skip
        self.errors: list[RegardError] = []

    @classmethod
    def of(cls, bad_rows: str | None) -> BadInputs:
        if bad_rows not in (None, "stop", "skip"):
            raise RegardError(f"{bad_rows!r} is not one of stop, skip.", where="--bad-rows")
        return cls(skip=bad_rows == "skip")

    def refuse(self, error: RegardError) -> None:
        if not self.skip:
            raise RegardError(error.what, where=error.where, fix=f"{error.fix} {ADVICE}".strip())
        self.errors.append(error)

    def usable(self, inputs: Sequence[Any], model: Model) -> list[Any]:
        """The inputs that the model's columns can encode. Without `skip`, all of them: `predict` raises the error."""
        if not self.skip:
            return list(inputs)
        kept = []
        for given in inputs:
            try:
                model.dataset([model.row(given)])
                kept.append(given)
            except RegardError as error:
                self.errors.append(error)
        return kept

    @contextmanager
    def advised(self) -> Iterator[None]:
        """Add to errors about an input how to continue without it."""
        try:
            yield
        except RegardError as error:
            if error.fix != INPUT_REMEDY:
                raise
            raise RegardError(error.what, where=error.where, fix=f"{error.fix} {ADVICE}") from None

    def report(self) -> None:
        if not self.errors:
            return
        count = "1 input was" if len(self.errors) == 1 else f"{len(self.errors):,} inputs were"
        print(f"{count} left out:", file=sys.stderr)
        for error in self.errors[:MOST_SHOWN]:
            print(f"  {error.where}: {error.what}", file=sys.stderr)
        if len(self.errors) > MOST_SHOWN:
            print("  …", file=sys.stderr)


def read_inputs(model: Model, file: Path | None, bad: BadInputs) -> Iterator[Row]:
    """One input per line, JSON lines by input names, or a table; from standard input if no file is named.

    Each is a row whose fields are the inputs, with its location.
    """
    from regard.cli.tables import is_table, table_inputs

    if file is not None and is_table(file):
        yield from table_inputs(model, file, bad)
        return
    if file is None and sys.stdin.isatty():
        print("Reading inputs from the terminal, one per line; end with Ctrl-D.", file=sys.stderr)
    if file is None:
        yield from _line_inputs(sys.stdin.buffer, "standard input", model, bad)
    else:
        from regard.data.readers.opening import find, opened

        with opened(find(file)) as stream:
            yield from _line_inputs(stream, str(file), model, bad)


def _line_inputs(stream: Any, name: str, model: Model, bad: BadInputs) -> Iterator[Row]:
    for line in stream_lines(stream):
        where = f"{name}:{line.number}"
        try:
            if line.problem:
                raise RegardError(f"the line {line.problem}.", where=where)
            value = parse_line(line.text, where, model, records=kind(name) in JSON_LINES)
        except RegardError as error:
            bad.refuse(error)
            continue
        values = value if isinstance(value, dict) else {next(iter(model.spec.inputs)): value}
        yield Row(values, file=name, line=line.number)


def parse_line(line: str, where: str, model: Model, *, records: bool = False) -> Any:
    """The text of a line, or a mapping by input names if the line is JSON that contains them, or has cells for them.

    records   whether all lines are JSON; a line without the input is then an error, not a text that looks like JSON
    """
    if not line.strip():
        raise RegardError("the line is empty.", where=where, fix="Remove it, or put an input there.")
    if not line.lstrip().startswith("{"):
        return line if len(model.spec.inputs) == 1 else _cells(line, where, model)
    try:
        # Numbers keep their notation.
        record = json.loads(line, parse_int=str, parse_float=str, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        if len(model.spec.inputs) == 1 and not records:
            return line
        raise RegardError(f"this is not JSON: {error}.", where=where) from None
    found: dict[str, Any] = {}
    for name in model.spec.inputs:
        field = model.columns[name].field
        keys = [key for key in (field, name) if key in record or dig(record, key) is not None]
        if keys:
            found[name] = json_text(dig(record, keys[0]), keys[0], where)
    if not found and len(model.spec.inputs) == 1 and not records:
        return line  # a text that happens to be JSON
    missing = [name for name in model.spec.inputs if name not in found]
    if missing:
        raise RegardError(
            f"the input {missing[0]!r} is missing; the line has {', '.join(record) or 'nothing'}.",
            where=where,
            fix=f"Every line needs {', '.join(model.columns[name].field for name in model.spec.inputs)}.",
        )
    return found


def _cells(line: str, where: str, model: Model) -> dict[str, str]:
    """The inputs of a model that has several, from a line with tabs between them."""
    names, cells = list(model.spec.inputs), line.split("\t")
    if len(cells) != len(names):
        count = "1 text" if len(cells) == 1 else f"{len(cells)} texts"
        example = json.dumps(dict.fromkeys(names, "…"), ensure_ascii=False)
        raise RegardError(
            f"this model reads {', '.join(names)}; received {count}.",
            where=where,
            fix=f"Put a tab between the inputs, or write JSON: {example}",
        )
    return dict(zip(names, cells, strict=True))


def json_text(value: Any, name: str, where: str) -> Any:
    """A JSON value as data: texts, numbers and booleans as written, lists for arrays."""
    text = as_text(value)
    if text is None and (value is None or isinstance(value, dict)):
        raise RegardError(
            f"{name!r} is {'null' if value is None else 'an object'}, expected a text.",
            where=where,
            fix="Give a text, or leave the line out.",
        )
    if has_half_pair(json.dumps(value, ensure_ascii=False) if text is None else text):
        raise RegardError(
            f"{name!r} has an unpaired surrogate, which is not a character.",
            where=where,
            fix="Correct the text, or leave the line out.",
        )
    return value if text is None else text
