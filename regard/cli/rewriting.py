"""Files that are written back with the answers in them, by the reader of their format.

regard predict runs/parser file.conllu -o out.conllu
regard predict runs/parser -f pairs.tsv --column premise --as premise_tree -o parsed.tsv
"""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.cli.command import Loading
from regard.cli.inputs import BadInputs
from regard.cli.loading import load_together
from regard.cli.outputs import STANDARD, refuse_output_as_file, written
from regard.cli.unknown import UnknownUnits
from regard.data import Row
from regard.data.readers.entries import Entries, Entry
from regard.data.readers.files import find, kind
from regard.data.readers.reader import Reader
from regard.data.readers.rows import reader_of
from regard.errors import RegardError
from regard.model import Model
from regard.parts import names, part
from regard.storage.files import check_apart, replacing

CHUNK = 1024
"""Number of pieces to read and answer at a time."""


def replacing_reader(path: str | Path) -> Reader | None:
    """The reader by extension that can write a file back with predicted fields, if there is one."""
    suffix = kind(path)
    if not suffix[1:].isalnum():
        return None
    readers = [part("reader", name) for name in names("reader")]
    found = next((one for one in readers if one.replaces and suffix in one.suffixes), None)
    return None if found is None else found()


def replace_fields(
    model: Model,
    path: Path,
    reader: Reader,
    output: Path | None,
    *,
    bad_rows: str | None = None,
    ensemble: Sequence[Model] = (),
) -> None:
    """Write the file with the fields that this model predicts."""
    fields = replaced_fields(model, reader)
    inputs = {name: model.columns[name].field for name in model.spec.inputs}
    entries = reader.entries(find(path), list(inputs.values()))
    Rewriting(model, ensemble, path, inputs, fields, BadInputs.of(bad_rows)).write(entries, output)


def replaced_fields(model: Model, reader: Reader) -> dict[str, str]:
    """{output: field} if all outputs are fields that the format can replace."""
    fields = {name: model.columns[name].field for name in model.spec.outputs}
    for name, field in fields.items():
        if field not in reader.replaces:
            raise RegardError(
                f"{reader.about} has no column for the output {name} (field {field!r}).",
                fix=f"It has {', '.join(reader.replaces)}; give the inputs as text to see the output.",
            )
    return fields


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
    """Write the file with the answers to one of its columns as the column `name`.

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
    path, source = find(file), next(iter(model.spec.inputs))
    reader = reader_of(str(path), None, (source, new))
    if not reader.adds_column:
        raise RegardError(
            "a column can be added only to tables of text and JSON lines.",
            where=str(path),
            fix="Convert the file to .tsv.",
        )
    bad = BadInputs.of(bad_rows)
    found = Rewriting(model, ensemble, path, {source: column}, {chosen: new}, bad)
    found.write(reader.entries(path, [column], new), output)


@dataclass(frozen=True)
class Rewriting:
    """The pieces of a file, written back with answers.

    inputs    {input: the field it is read from}
    outputs   {output: the field it is written to}
    """

    model: Model
    ensemble: Sequence[Model]
    path: Path
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    bad: BadInputs

    def write(self, entries: Entries, output: Path | None) -> None:
        unknown = UnknownUnits(self.model)
        for remark in entries.remarks:
            print(remark, file=sys.stderr)
        with written_back(output) as write:
            while chunk := list(islice(entries.pieces, CHUNK)):
                for text in self._texts(chunk, unknown):
                    write(text)
        unknown.tell()
        self.bad.report()

    def _texts(self, pieces: Sequence[Entry], unknown: UnknownUnits) -> Iterator[str]:
        for piece in pieces:
            if piece.problem is not None:
                where = f"{self.path}:{piece.line}"
                self.bad.refuse(RegardError(f"{piece.problem}.", where=where, fix=piece.remedy))
        rows = {
            place: Row(
                {name: piece.values[field] for name, field in self.inputs.items()},
                file=str(self.path),
                line=piece.line,
            )
            for place, piece in enumerate(pieces)
            if piece.values and piece.problem is None
        }
        found = self._answers(list(rows.values()), unknown)
        empty = dict.fromkeys(self.outputs.values(), "")
        for place, piece in enumerate(pieces):
            if place not in rows:
                yield piece.written({})
            elif (line := rows[place].line) in found:
                yield piece.written(found[line])
            else:
                yield piece.written(empty)

    def _answers(self, rows: list[Row], unknown: UnknownUnits) -> dict[int, dict[str, str]]:
        """{line: {field: answer}} of the rows that can be answered."""
        usable = self.bad.usable(rows, self.model)
        unknown.look_at(usable)
        found: dict[int, dict[str, str]] = {row.line: {} for row in usable}
        for output, field in self.outputs.items() if usable else ():
            with self.bad.advised():
                answers = self.model.predict(usable, output=output, trace=False, ensemble=self.ensemble)
            for row, answer in zip(usable, answers, strict=True):
                found[row.line][field] = answer.text
        return found


@contextmanager
def written_back(path: Path | None) -> Iterator[Any]:
    """A function that writes text to standard output, or to a file that is compressed by its extension and written
    atomically. Bytes that were no text when they were read are written as they were."""
    if path is None or path == STANDARD:
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None or sys.stdout.isatty():
            with written(path) as shown:
                yield shown.write
            return
        yield lambda text: stream.write(text.encode("utf-8", errors="surrogateescape"))
        return
    opener: Any = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with replacing(path) as temporary, opener(temporary, "wb") as stream:
        yield lambda text: stream.write(text.encode("utf-8", errors="surrogateescape"))
