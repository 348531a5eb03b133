"""From a file of pairs to a spec: the columns to use, their types, and a model of suitable size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.columns import TextColumn
from regard.data.columns.number import NumberColumn, is_decimal_comma
from regard.data.readers import FileRows
from regard.data.readers.reader import joined
from regard.data.readers.table import TableReader
from regard.pair_columns import SAMPLE, SOURCE, TARGET, fields_of_sides, first_rows
from regard.pair_model import alternatives, choose_parts, without_model
from regard.parts import part
from regard.sources.grouping import with_group
from regard.spec import Spec
from regard.spec.spec import read_data
from regard.zoo import names

SPECS = (".yaml", ".yml")
MANY_WORDS = 20000
COMMON, FAR = 0.95, 10
"""A text is too long if it is FAR times as long as the share COMMON of all texts."""
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


def name_of_file(path: str) -> str:
    """The stem of a file, or of the first of parallel files, in characters that need no quotes in a shell."""
    stem = Path(joined(path)[0]).name.split(".")[0]
    return re.sub(r"[^\w-]+", "-", stem).strip("-") or "data"


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
    overrides, model = without_model(overrides)
    data = read_data({"data": {"train": path}}, overrides)
    fields = fields_of_sides(path, data.format, source, target)
    rows, read = first_rows(path, data.format, fields)
    treebank = read.reader.type == "conllu"
    sources, targets = ([row[field] for row in rows] for field in fields.values())
    asked = {key.strip(): value for key, _, value in (override.partition("=") for override in overrides)}
    wanted = asked.get(f"outputs.{TARGET}.type", "").strip()
    output = _tree_output(fields[TARGET]) if treebank else _output(targets, wanted)
    inputs = {SOURCE: {"type": "text", "unit": "word"} if treebank else _text(sources)}
    for side, column in ((SOURCE, inputs[SOURCE]), (TARGET, output)):
        if fields[side] != side:
            column["field"] = fields[side]
    document: dict[str, Any] = {
        "name": name_of_file(path),
        "inputs": inputs,
        "outputs": {TARGET: output},
        "encoder": {"type": "recurrent", **part("encoder", "recurrent").small},
    }
    training: dict[str, Any] = {"epochs": 20, "patience": 5}
    if "training.batch_tokens" not in asked:  # few rows need many small steps
        training["batch_rows"] = 64 if len(rows) == SAMPLE else 16
    if inputs[SOURCE]["unit"] == "char":
        training["bucket"] = 1
    document |= _model(output, targets, training)
    document["training"] = training
    document["data"] = {"train": path}
    choose_parts(document, overrides, model)
    spec = Spec.parse(document, overrides)
    spec = with_group(spec)
    notes = [*_notes(spec, fields, read), _model_note(spec, document)]
    return Inferred(spec, notes, _warnings(output, targets))


def _output(targets: Sequence[str], wanted: str) -> dict[str, Any]:
    """The column of the targets, of the wanted type if one is given."""
    if wanted:
        return _text(targets) if wanted == "text" else _of_type(wanted)
    label, commas = (
        _is_label(targets),
        any(is_decimal_comma(one) and not _is_thousands(one) for one in targets),
    )
    column = {"type": "number", **({"decimal": "comma"} if commas else {})}
    reader = NumberColumn(TARGET, decimal="comma" if commas else "point")
    numbers = all(reader.check_value(value) is None for value in targets)
    whole = all(value.strip().lstrip("+-").isdecimal() for value in targets)
    if label and (whole or not numbers):
        return {"type": "label"}
    return column if numbers else _text(targets)


def _of_type(name: str) -> dict[str, Any]:
    """A column of this type; if it must refer to another column, such as tags to words, it refers to the source."""
    column = part("column", name)
    of = column.Options.model_fields.get("of") if column is not None else None
    return {"type": name, "of": SOURCE} if of is not None and of.is_required() else {"type": name}


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
        decoder = {"type": "recurrent", **part("decoder", "recurrent").small}
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
    group = spec.data.group
    of = "distinct inputs" if group in (None, "none") else f"values of {group}, with all their rows,"
    hold_out = f"{100 * spec.data.hold_out:g} % of the {of} are held out"
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
    return notes if len(read.files) < 2 else notes[1:]


def _model_note(spec: Spec, document: dict[str, Any]) -> Note:
    """Encoder and decoder, and the names of others that suit."""
    encoder, decoder = spec.encoder[SOURCE], spec.decoder[TARGET]
    looking = " with attention" if getattr(decoder, "attention", None) else ""
    return Note(
        "model",
        f"{encoder.type} encoder, {decoder.type} decoder{looking}",
        f"--model {'|'.join(alternatives(document))}",
    )


def _warnings(output: dict[str, Any], targets: Sequence[str]) -> list[str]:
    """Inferred types that a user may not expect."""
    if output["type"] == "text" and all(value.strip().endswith("%") for value in targets):
        return ["The targets are percentages and are read as text. To predict numbers, remove the % signs."]
    plain = [value for value in targets if not _is_thousands(value)]
    if (
        output["type"] == "text"
        and len(plain) < len(targets)
        and all(one.strip().isdecimal() for one in plain)
    ):
        return [
            "The targets have commas before three digits and are read as text. To predict numbers, remove the "
            "commas, or, for decimal commas:  --set outputs.target.type=number --set outputs.target.decimal=comma"
        ]
    return []


def _is_thousands(value: str) -> bool:
    """Whether a number may have commas between thousands: 1,234."""
    return re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", value.strip()) is not None


def _unit(column: Any) -> str:
    return f"text by {column.unit}" if column.type == "text" else column.type


def _text(values: Sequence[str]) -> dict[str, Any]:
    if _words(values) < 1.5:
        return {"type": "text", "unit": "char", **_length([len(value) for value in values])}
    distinct = {word for value in values for word in value.split()}
    length = _length([len(value.split()) for value in values])
    if len(distinct) > MANY_WORDS * len(values) / SAMPLE and len(distinct) > 8000:
        return {"type": "text", "unit": "subword", "vocabulary": 8000, **length}
    return {"type": "text", "unit": "word", **length}


def _length(lengths: Sequence[int]) -> dict[str, int]:
    """A larger limit for long texts, so that documents are read whole, also in rows beyond the sample.

    A text that is far longer than nearly all others is not meant: a whole file in one cell is a bad row.
    """
    usual = TextColumn.Options.model_fields["max_length"].default
    longest, common = max(lengths), sorted(lengths)[int(COMMON * (len(lengths) - 1))]
    limit = min(4 * longest, FAR * common)
    return {} if 2 * longest <= usual or limit <= usual else {"max_length": limit}


def _words(values: Sequence[str]) -> float:
    return sum(len(value.split()) for value in values) / max(len(values), 1)


def _is_label(values: Sequence[str]) -> bool:
    return len(set(values)) <= min(100, len(values) // 10)


def _is_code(values: Sequence[str]) -> bool:
    """Whether the values consist of symbols (phonemes, tags): few different ones, and short."""
    written = [word for value in values for word in value.split()]
    return len(set(written)) <= 100 and sum(map(len, written)) < CODE_LENGTH * len(written)
