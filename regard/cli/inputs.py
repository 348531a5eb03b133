"""The inputs of `regard predict`, from the command line, a file or standard input, and unreadable ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.cli.command import COMMAND_LINE
from regard.data import Row
from regard.data.readers.files import find, opened, stream_lines
from regard.data.readers.json_documents import refuse_constant
from regard.data.readers.json_values import as_text, dig, has_half_pair
from regard.data.sources import open_inputs
from regard.errors import Message, RegardError, Words, said
from regard.model import Model
from regard.model.inputs import INPUT_REMEDY

ADVICE = "`--bad-rows skip` answers the rest."
MOST_SHOWN = 5


def as_inputs(model: Model, words: Sequence[str]) -> list[Any]:
    """The inputs after RUN on the command line: all words as one text, or each as a file if the model reads files.

    If the model has several inputs, there is one word for each of them, or a line as in a file.
    """
    by_name = [model.columns[name] for name in model.spec.inputs]
    if len(by_name) > 1 and len(words) == len(by_name):
        return [dict(zip(model.spec.inputs, words, strict=True))]
    if len(by_name) == 1 and by_name[0].has_regions:
        return list(words)
    return [parse_line(" ".join(words), "the text", model)] if words else []


def _advised(error: RegardError) -> Words:
    """The remedy of an error, and how to continue without the input."""
    return Message(error.fix, " ", ADVICE) if error.fix else ADVICE


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
            raise RegardError(error.what, where=error.where, fix=_advised(error))
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
            raise RegardError(error.what, where=error.where, fix=_advised(error)) from None

    def report(self) -> None:
        if not self.errors:
            return
        count = "1 input was" if len(self.errors) == 1 else f"{len(self.errors):,} inputs were"
        print(f"{count} left out:", file=sys.stderr)
        for error in self.errors[:MOST_SHOWN]:
            print(said(Message("  ", error.where, ": ", error.what), COMMAND_LINE), file=sys.stderr)
        if len(self.errors) > MOST_SHOWN:
            print("  …", file=sys.stderr)


def read_inputs(model: Model, file: Path | None, bad: BadInputs) -> Iterator[Row]:
    """The inputs of a file in any format that `train` reads; lines of plain text from other files and standard input.

    Each is a row whose fields are the inputs, with its location.
    """
    if file is None:
        if sys.stdin.isatty():
            print("Reading inputs from the terminal, one per line; end with Ctrl-D.", file=sys.stderr)
        yield from _line_inputs(sys.stdin.buffer, "standard input", model, bad)
        return
    found = open_inputs(model.spec, str(file))
    if found is None:
        if model.spec.data.format is not None:
            print(f"{file}: read as one text per line", file=sys.stderr)
        with opened(find(file)) as stream:
            yield from _line_inputs(stream, str(file), model, bad)
        return
    for remark in found.rows.remarks():
        print(said(remark, COMMAND_LINE).partition(" To change that")[0], file=sys.stderr)
    for row in found.rows.with_problems():
        missing = next((field for field in found.fields.values() if field not in row), None)
        if row.problem is not None or missing is not None:
            what = f"the row {row.problem}" if row.problem is not None else f"{missing} is missing"
            fix = (
                "Correct the row." if row.problem else f"Every row needs {', '.join(found.fields.values())}."
            )
            bad.refuse(RegardError(f"{what}.", where=row.where, fix=fix))
            continue
        values = {name: row[field] for name, field in found.fields.items()}
        yield Row(values, file=row.file, line=row.line, folder=row.folder)


def _line_inputs(stream: Any, name: str, model: Model, bad: BadInputs) -> Iterator[Row]:
    for line in stream_lines(stream):
        where = f"{name}:{line.number}"
        try:
            if line.problem:
                raise RegardError(f"the line {line.problem}.", where=where)
            value = parse_line(line.text, where, model)
        except RegardError as error:
            bad.refuse(error)
            continue
        values = value if isinstance(value, dict) else {next(iter(model.spec.inputs)): value}
        yield Row(values, file=name, line=line.number)


def parse_line(line: str, where: str, model: Model) -> Any:
    """The text of a line, or a mapping by input names if the line is JSON that contains them, or has cells for them."""
    if not line.strip():
        raise RegardError("the line is empty.", where=where, fix="Remove it, or put an input there.")
    if not line.lstrip().startswith("{"):
        return line if len(model.spec.inputs) == 1 else _cells(line, where, model)
    try:
        # Numbers keep their notation.
        record = json.loads(line, parse_int=str, parse_float=str, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        if len(model.spec.inputs) == 1:
            return line
        raise RegardError(f"this is not JSON: {error}.", where=where) from None
    found: dict[str, Any] = {}
    for name in model.spec.inputs:
        field = model.columns[name].field
        keys = [key for key in (field, name) if key in record or dig(record, key) is not None]
        if keys:
            found[name] = json_text(dig(record, keys[0]), keys[0], where)
    if not found and len(model.spec.inputs) == 1:
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
