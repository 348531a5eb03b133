"""The inputs of `regard predict`, from the command line, a file or standard input, and unreadable ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.cli.command import COMMAND_LINE
from regard.data import Row
from regard.data.sources import open_inputs
from regard.data.sources.given import Given, file_lines, input_fields, line_inputs, parse_line, table_inputs
from regard.errors import Message, RegardError, Words, said
from regard.model import Model
from regard.model.inputs import INPUT_REMEDY
from regard.storage.files import is_remote

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
    return [parse_line(" ".join(words), "the text", input_fields(model.spec))] if words else []


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
    fields = input_fields(model.spec)
    if file is None:
        if sys.stdin.isatty():
            print("Reading inputs from the terminal, one per line; end with Ctrl-D.", file=sys.stderr)
        yield from _good(line_inputs(sys.stdin.buffer, "standard input", fields), bad)
        return
    name = str(file)
    if is_remote(name):
        from regard.data.remote import url_of

        name = url_of(name)
    found = open_inputs(model.spec, name)
    if found is None:
        if model.spec.data.format is not None:
            print(f"{name}: read as one text per line", file=sys.stderr)
        yield from _good(file_lines(name, fields), bad)
        return
    for remark in found.rows.remarks():
        print(said(remark, COMMAND_LINE).partition(" To change that")[0], file=sys.stderr)
    yield from _good(table_inputs(found), bad)


def _good(inputs: Iterable[Given], bad: BadInputs) -> Iterator[Row]:
    for one in inputs:
        if isinstance(one, RegardError):
            bad.refuse(one)
        else:
            yield one
