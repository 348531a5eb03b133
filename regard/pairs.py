"""From a file of pairs to a spec: the columns to use, their types, and a model of suitable size."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.data import Row, read_rows
from regard.data.columns import TextColumn
from regard.data.readers import FileRows
from regard.data.readers.header import is_number
from regard.data.readers.table import TableReader
from regard.errors import RegardError
from regard.parts import part
from regard.spec import Spec
from regard.spec.spec import read_data
from regard.zoo import names

SPECS = (".yaml", ".yml")
SAMPLE = 5000
FEWEST = 10
MANY_WORDS = 20000
SOURCE, TARGET = "source", "target"
IDENTIFIERS = ("id", "idx", "index", "")
TREEBANK = {SOURCE: "words", TARGET: "upos"}
CODE_LENGTH = 3.0
"""Average length below which the symbols of a text are a code (phonemes, tags) and not words."""


class Note(NamedTuple):
    """An inference: its subject, the decision, and the option that changes it."""

    what: str
    decided: str
    change: str


class Inferred(NamedTuple):
    """A spec for a file, notes on what was inferred, and warnings."""

    spec: Spec
    notes: list[Note]
    warnings: list[str]


def is_data_file(name: str) -> bool:
    """Whether this names data, not a spec, a run or a system of the zoo: words.tsv, d/a.en+e/b.de, hf:…"""
    path = Path(name)
    if name in names() or path.suffix in SPECS or path.is_dir():
        return False
    return path.is_file() or "+" in name or name.startswith("hf:") or path.suffix != ""


def pairs_spec(
    path: str, overrides: Sequence[str] = (), *, source: str | None = None, target: str | None = None
) -> Spec:
    """A spec for a file whose rows are pairs; see `infer`."""
    return infer(path, overrides, source=source, target=target).spec


def infer(
    path: str, overrides: Sequence[str] = (), *, source: str | None = None, target: str | None = None
) -> Inferred:
    """A spec for a file whose rows are pairs, with notes on what was inferred.

    A side without spaces is read by characters, a side with spaces by words, or by subwords if it has very
    many different words. A target side of few values that repeat is a label; other numbers are a number.

    source, target   the columns, by name or by number from 1; default: columns with these names, or the only
                     two
    """
    data = read_data({"data": {"train": path}}, overrides)
    fields = _fields(path, data.format, source, target)
    rows, read = _sample(path, data.format, fields)
    treebank = read.reader.type == "conllu"
    sources, targets = ([row[field] for row in rows] for field in fields.values())
    asked = {key: value for key, _, value in (override.partition("=") for override in overrides)}
    wanted = asked.get(f"outputs.{TARGET}.type", "").strip()
    output = _tree_output(fields[TARGET]) if treebank else _output(targets, wanted)
    inputs = {SOURCE: {"type": "text", "unit": "word"} if treebank else _text(sources)}
    for side, column in ((SOURCE, inputs[SOURCE]), (TARGET, output)):
        if fields[side] != side:
            column["field"] = fields[side]
    document: dict[str, Any] = {
        "name": Path(path.split("+")[0]).name.split(".")[0].replace(":", "-"),
        "inputs": inputs,
        "outputs": {TARGET: output},
        "encoder": {"type": "recurrent", "cell": "gru", "size": 128, "embedding": 128, "dropout": 0.2},
    }
    # few rows need many small steps
    training: dict[str, Any] = {"epochs": 20, "batch_rows": 64 if len(rows) == SAMPLE else 16, "patience": 5}
    if inputs[SOURCE]["unit"] == "char":
        training["bucket"] = 1
    document |= _model(output, targets, training)
    document["training"] = training
    document["data"] = {"train": path}
    spec = Spec.parse(document, overrides)
    return Inferred(spec, _notes(spec, fields, read), [])


def _fields(path: str, format: Any, source: str | None, target: str | None) -> dict[str, str]:
    """The field of each side."""
    wanted = {SOURCE: source, TARGET: target}
    opened = read_rows(path, fields=[SOURCE, TARGET], format=format)
    assert isinstance(opened, FileRows)
    if opened.reader.type == "conllu":
        return {side: name or TREEBANK[side] for side, name in wanted.items()}
    found = opened.found()
    known = [field.name for field in found]
    numbered = known == [str(number) for number in range(1, len(known) + 1)]
    given = {side: _named(name, known, path) for side, name in wanted.items() if name is not None}
    if len(given) > len(set(given.values())):
        raise RegardError(f"source and target are the same column, {given[SOURCE]!r}.", where=path)
    if not known:
        return {side: given.get(side, side) for side in wanted}
    if given:
        rest = [name for name in known if name not in given.values()]
        missing = [side for side in wanted if side not in given]
        if len(missing) == 1 and len(rest) != 1 and missing[0] not in rest:
            raise _which(path, known, [field.example for field in found], numbered, missing)
        return {side: given.get(side) or (side if side in rest else rest[0]) for side in wanted}
    if all(side in known for side in wanted) or (numbered and len(known) == 2):
        return {side: side for side in wanted}
    if len(known) == 2:
        return dict(zip(wanted, known, strict=True))
    raise _which(path, known, [field.example for field in found], numbered, list(wanted))


def _named(name: str, known: Sequence[str], path: str) -> str:
    """The name of a column that is given by its name or number."""
    if not known:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(known):
        return known[int(name) - 1]
    if name in known:
        return name
    raise RegardError(
        f"there is no column {name!r}.",
        where=path,
        fix=f"The columns are {', '.join(known)}; a number counts them from 1.",
    )


def _which(
    path: str, known: Sequence[str], examples: Sequence[str], numbered: bool, missing: Sequence[str]
) -> RegardError:
    shown = [
        f"{name} ({' '.join(example.split())[:30]})" if numbered else name
        for name, example in zip(known, examples, strict=True)
    ]
    count = f"{len(known)} column{'' if len(known) == 1 else 's'}"
    if len(known) < 2:
        return RegardError(
            f"the file has {count}, and a pair needs two: {', '.join(shown)}.",
            where=path,
            fix="Put a tab, comma, semicolon or pipe between source and target.",
        )
    likely = [name for name in known if name.lower() not in IDENTIFIERS] or known
    typed = " ".join(f"--{side} {shlex.quote(name)}" for side, name in zip(missing, likely, strict=False))
    return RegardError(
        f"the file has {count}; which are used? There are {', '.join(shown)}.",
        where=path,
        fix=f"For example  regard train {path} {typed}",
    )


def _sample(path: str, format: Any, fields: dict[str, str]) -> tuple[list[Row], FileRows]:
    """The first rows with both sides, and their reader."""
    opened = read_rows(path, fields=list(fields.values()), format=format, bad_rows="skip")
    assert isinstance(opened, FileRows)
    rows = list(islice(opened, SAMPLE))
    whole = [row for row in rows if all(row.get(field, "").strip() for field in fields.values())]
    if len(whole) < FEWEST:
        lacking = next((field for field in fields.values() if rows and not any(_has(rows, field))), None)
        if lacking is not None:
            known = ", ".join(field.name for field in opened.found())
            raise RegardError(
                f"no row has anything in {lacking!r}.", where=path, fix=f"The fields are {known}."
            )
        raise RegardError(
            f"only {len(whole)} rows could be read as pairs; a model needs more to learn from.",
            where=path,
            fix="Each line holds a source and a target, with a tab, comma, semicolon or pipe between them; "
            "`--source NAME --target NAME` choose among more columns.",
        )
    return whole, opened


def _has(rows: Sequence[Row], field: str) -> list[bool]:
    """Whether each row has a nonempty value in a field."""
    return [bool(row.get(field, "").strip()) for row in rows]


def _output(targets: Sequence[str], wanted: str) -> dict[str, Any]:
    """The column of the targets, of the wanted type if one is given."""
    if wanted:
        return _text(targets) if wanted == "text" else {"type": wanted}
    label, numbers = _is_label(targets), all(map(is_number, targets))
    whole = all(value.strip().lstrip("+-").isdecimal() for value in targets)
    if label and (whole or not numbers):
        return {"type": "label"}
    if not numbers:
        return _text(targets)
    return {"type": "number"}


def _tree_output(field: str) -> dict[str, Any]:
    return {"type": "tree" if field == "tree" else "tags", "of": SOURCE}


def _model(output: dict[str, Any], targets: Sequence[str], training: dict[str, Any]) -> dict[str, Any]:
    """Attention, decoder, search and metrics for an output."""
    attention = {"attention": {"score": "additive", "select": "softmax"}}
    if output["type"] == "label":
        training["metric"] = "accuracy"
        return {**attention, "decoder": {"type": "label", "dropout": 0.2}}
    if output["type"] == "text":
        training["schedule"] = {"type": "plateau"}
        decoder = {"type": "recurrent", "cell": "gru", "size": 256, "embedding": 128, "dropout": 0.2}
        return {
            **attention,
            "decoder": decoder,
            "search": {"method": "beam", "beam": 5},
            "metrics": _metrics(targets, output["unit"]),
        }
    column = part("column", output["type"])
    if column is None or not column.decoder:
        return {}  # the spec reports the mistake
    if column.usual:
        training["metric"] = column.usual[0]
    takes = "attention" in part("decoder", column.decoder).Options.model_fields
    return attention if takes else {}


def _metrics(targets: Sequence[str], unit: str) -> list[str]:
    """Error rates of the output's unit, or BLEU and chrF for sentences."""
    if unit == "char":
        return ["cer", "exact"]
    return ["token_error", "exact"] if _is_code(targets) else ["bleu", "chrf"]


def _notes(spec: Spec, fields: dict[str, str], read: FileRows) -> list[Note]:
    """Notes on what was inferred, after changes by --set."""
    source, target = spec.inputs[SOURCE], spec.outputs[TARGET]
    known = [field.name for field in read.found()]
    headed = isinstance(read.reader, TableReader) and not all(name.isdecimal() for name in known)
    places = {
        side: field if field in known or field != side else str(place)
        for place, (side, field) in enumerate(fields.items(), 1)
    }
    columns = ", ".join(f"{side}: {'column ' * place.isdecimal()}{place}" for side, place in places.items())
    units = [f"{side}: {_unit(column)}" for side, column in ((SOURCE, source), (TARGET, target))]
    measured = ", ".join(spec.metrics or part("column", target.type).usual or ("loss",))
    hold_out = f"{100 * spec.data.hold_out:g} % of the distinct inputs are held out"
    notes = [
        Note(
            "columns",
            columns + (" (the first line is a header)" if headed else ""),
            "--source NAME --target NAME",
        ),
        Note(
            "units",
            "; ".join(units),
            f"--set inputs.{SOURCE}.unit=word|char|subword|byte, --set outputs.{TARGET}."
            + ("unit=…" if target.type == "text" else "type=text"),
        ),
        Note("metrics", measured, f"--set metrics=[{measured.split(', ')[0]}]"),
        Note(
            "split",
            f"dev: {', '.join(spec.data.dev) if spec.data.dev else hold_out}; "
            f"test: {', '.join(spec.data.test) or 'none'}",
            "--set data.dev=FILE --set data.test=FILE",
        ),
    ]
    return notes if "+" not in read.path else notes[1:]


def _unit(column: Any) -> str:
    return f"text by {column.unit}" if column.type == "text" else column.type


def _text(values: Sequence[str]) -> dict[str, Any]:
    if _words(values) < 1.5:
        return {"type": "text", "unit": "char", **_length(max(map(len, values)))}
    distinct = {word for value in values for word in value.split()}
    length = _length(max(len(value.split()) for value in values))
    if len(distinct) > MANY_WORDS * len(values) / SAMPLE and len(distinct) > 8000:
        return {"type": "text", "unit": "subword", "vocabulary": 8000, **length}
    return {"type": "text", "unit": "word", **length}


def _length(longest: int) -> dict[str, int]:
    """A larger limit for long texts, so that documents are read whole, also in rows beyond the sample."""
    usual = TextColumn.Options.model_fields["max_length"].default
    return {} if 2 * longest <= usual else {"max_length": 4 * longest}


def _words(values: Sequence[str]) -> float:
    return sum(len(value.split()) for value in values) / max(len(values), 1)


def _is_label(values: Sequence[str]) -> bool:
    return len(set(values)) <= min(100, len(values) // 10)


def _is_code(values: Sequence[str]) -> bool:
    """Whether the values consist of symbols (phonemes, tags): few different ones, and short."""
    written = [word for value in values for word in value.split()]
    return len(set(written)) <= 100 and sum(map(len, written)) < CODE_LENGTH * len(written)
