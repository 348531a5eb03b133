"""From a file of pairs to a spec: the columns to use, their types, and a model of suitable size."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.readers.reader import joined
from regard.data.readers.row import readable
from regard.data.readers.rows import reader_of, recognized
from regard.data.sources.splits import with_group
from regard.errors import Message, Option, RegardError, Setting, Words
from regard.fitting.pair_columns import (
    SAMPLE,
    SOURCE,
    TARGET,
    Chosen,
    Sources,
    choose_columns,
    first_rows,
    is_code,
    lists_refused,
    of_type,
    series_or_symbols,
    strange_characters,
    target_column,
    text_column,
    with_spans,
)
from regard.fitting.pair_model import Note, choose_parts, model_note, notes_on, warnings_of, without_model
from regard.parts import part
from regard.spec import Spec
from regard.spec.document import Change, Document, changed
from regard.spec.spec import read_data
from regard.storage.files import is_remote
from regard.zoo import names

SPECS = (".yaml", ".yml")
PAIR = (SOURCE, TARGET)


class Inferred(NamedTuple):
    """A spec for a file, notes on what was inferred, and warnings."""

    spec: Spec
    notes: list[Note]
    warnings: list[Words]


def is_data_file(name: str) -> bool:
    """Whether this names data, not a spec, a run or a system of the zoo: words.tsv, d/a.en+e/b.de, hf:…, a folder of
    images or texts in one folder per class."""
    path = Path(name)
    if path.suffix in SPECS or (not path.suffix and name in names()):
        return False
    if is_remote(name):
        return True
    if path.is_dir():
        return not (path / "spec.yaml").is_file() and recognized(name, PAIR) is not None
    return path.is_file() or "+" in name or name.startswith("hf:") or path.suffix != ""


def parallel(files: Sequence[str]) -> str:
    """One file, or parallel text files as one name: a.en a.de → a.en+a.de."""
    if len(files) < 2:
        return files[0]
    known = [name for name in files if not Path(name).is_file() and not is_remote(name)]
    if known:
        path, change, _ = known[-1].partition("=")
        fix = Message(
            "Name one system, spec or file, or the two files of a parallel text: regard train a.en a.de"
        )
        if change:
            fix = Message("A setting is changed by ", Setting(path, typed=known[-1]), ".")
        raise RegardError(
            f"received {len(files)} names, {', '.join(files)}; {known[-1]} is not a file.", fix=fix
        )
    tables = [name for name in files if not reader_of(name, None, [SOURCE]).plain or recognized(name, PAIR)]
    if tables or len(files) > 2:
        raise RegardError(
            f"received {len(files)} files; only the two sides of a parallel text can be named together.",
            where=(tables or files)[-1],
            fix=Message(
                f"To train on several files: regard train {files[0]} ",
                Setting("data.train", list(files)),
                "; for dev: ",
                Setting("data.dev", files[-1]),
            ),
        )
    return "+".join(files)


def name_of_file(path: str) -> str:
    """The stem of a file, or of the first of parallel files, in characters that need no quotes in a shell."""
    stem = Path(joined(path)[0]).name.split(".")[0]
    return in_a_path(stem) or "data"


def in_a_path(name: str) -> str:
    """A name in characters that need no quotes in a shell; empty if none remain."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")


def pairs_spec(
    path: str, changes: Sequence[Change] = (), *, source: Sources = None, target: str | None = None
) -> Spec:
    """A spec for a file whose rows are pairs; see `infer`."""
    return infer(path, changes, source=source, target=target).spec


def infer(
    path: str, changes: Sequence[Change] = (), *, source: Sources = None, target: str | None = None
) -> Inferred:
    """A spec for a file whose rows are pairs, with notes on what was inferred.

    A format may determine the columns: words and tags, dialogs and responses, images and classes. In other files, a
    side without spaces is read by characters, a side with spaces by words, or by subwords if it has very many different
    words; prose with its punctuation split off. A target side of few values that repeat is a label; other numbers are a
    number. Lists of measurements are series.

    source, target   the columns, by name or by number from 1; several sources are several inputs; FIRST..LAST is a
                     range of columns that hold one series. Default: columns with these names, or the only two
    """
    changes, model = without_model(changes)
    data = read_data({"data": {"train": path}}, changes)
    format = recognized(path, PAIR) if data.format is None else None
    chosen = choose_columns(path, data.format or format, source, target)
    wishes = _wishes(changes)
    wanted = wishes.get(TARGET, {})
    column = part("column", str(wanted.get("type")))
    empty = bool(wanted.get("optional")) or (column is not None and column.may_be_empty)
    rows, read = first_rows(path, data.format or format, chosen.fields, empty=empty)
    targets = [row[chosen.target] for row in rows if row[chosen.target].strip()]
    inputs = {name: _input(name, field, rows, chosen, wishes) for name, field in chosen.inputs.items()}
    output = _output(targets, chosen, wishes, path)
    if "of" in output:  # it refers to the words as they stand
        inputs[output["of"]].pop("split", None)
    document: dict[str, Any] = {"name": name_of_file(path), "inputs": inputs, "outputs": {TARGET: output}}
    if chosen.truth:
        document["truth"] = {name: dict(column) for name, column in chosen.truth.items()}
    document |= _encoders(inputs)
    training: dict[str, Any] = {"patience": 5}
    if all(change.path != "training.steps" for change in changes):  # whoever says the steps means no epochs
        training["epochs"] = 20
    if all(change.path != "training.batch_tokens" for change in changes):  # few rows need many small steps
        training["batch_rows"] = 64 if len(rows) == SAMPLE else 16
    if any(column.get("unit") == "char" for column in inputs.values()):
        training["bucket"] = 1
    document |= _model(output, targets, training)
    document["training"] = training
    document["data"] = {"train": path, **({} if format is None else {"format": format})}
    choose_parts(document, changes, model)
    spec = Spec.parse(document, changes)
    spec = with_group(spec)
    notes = [*notes_on(spec, chosen, read, format), model_note(spec, document)]
    strange = strange_characters(rows, chosen.fields)
    return Inferred(spec, notes, [*warnings_of(output, targets), *([] if strange is None else [strange])])


def _wishes(changes: Sequence[Setting]) -> dict[str, dict[str, Any]]:
    """What the changes say of each column, by name: {"target": {"type": "tags", …}}."""
    said = [one for one in changes if one.path.startswith(("inputs", "outputs"))]
    document = changed(Document({}), said).data
    columns = [document.get(section) for section in ("inputs", "outputs")]
    pairs = [pair for one in columns if isinstance(one, dict) for pair in one.items()]
    return {name: column for name, column in pairs if isinstance(column, dict)}


def _known_options(column: dict[str, Any]) -> dict[str, Any]:
    """The options that the type of a column has."""
    known = part("column", column["type"])
    return (
        column
        if known is None
        else {
            key: value for key, value in column.items() if key == "type" or key in known.Options.model_fields
        }
    )


def _input(
    name: str, field: str, rows: Sequence[Mapping[str, str]], chosen: Chosen, wishes: Mapping[str, Any]
) -> dict[str, Any]:
    """The column of an input, of the type that the user, the format or the values determine."""
    values, wish = [row[field] for row in rows], wishes.get(name, {})
    column = dict(chosen.columns.get(field, {}))
    if not column:
        column = (
            series_or_symbols(values)
            if field in chosen.numbers
            else text_column(values, wish.get("unit", ""))
        )
    elif "split" in _options(column["type"]) and "unit" not in column:
        column |= {key: value for key, value in text_column(values).items() if key == "split"}
    if "type" in wish and wish["type"] != column["type"]:
        column = _known_options({**column, "type": wish["type"]})
    return column if field == name else {**column, "field": field}


def _options(type: str) -> Collection[str]:
    known = part("column", type)
    return () if known is None else known.Options.model_fields


def _output(targets: Sequence[str], chosen: Chosen, wishes: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The column of the targets, of the type that the user, the format or the values determine."""
    first, wish = next(iter(chosen.inputs)), wishes.get(TARGET, {})
    wanted, known = wish.get("type"), chosen.columns.get(chosen.target, {})
    if wanted is not None and wanted != known.get("type"):
        column = (
            text_column(targets, wish.get("unit", "")) if wanted == "text" else of_type(str(wanted), first)
        )
    elif known == {"type": "text"}:
        column = text_column(targets, wish.get("unit", ""))
    elif known:
        column = {**of_type(known["type"], first), **known}
    elif chosen.target in chosen.lists:
        example = next((one for target in targets if (one := " ".join(readable(target).split()))), "")
        raise lists_refused(chosen.target, example, path, of_targets=True)
    elif chosen.target in chosen.numbers:
        column = series_or_symbols(targets)
        if column["type"] != "text":
            raise RegardError(
                f"the targets are lists of numbers, such as {targets[0][:40]!r}; a model writes one number.",
                where=chosen.target,
                fix=Message(
                    "Put each number into a column of its own and choose one with ",
                    Option("target"),
                    ", or, to write the digits as text: ",
                    Setting(f"outputs.{TARGET}.type", "text"),
                ),
            )
    else:
        column = target_column(targets, wish.get("unit", ""))
    column = with_spans(column, targets)
    return column if chosen.target == TARGET else {**column, "field": chosen.target}


def _encoders(inputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The section `encoder`: one for all inputs if they are texts, else one for each."""
    recurrent = {"type": "recurrent", **part("encoder", "recurrent").small}
    made: dict[str, Any] = {}
    for name, column in inputs.items():
        known = part("column", column["type"])
        if column["type"] == "text":
            made[name] = recurrent
        elif known is not None and known.of_sentences:
            words = {"size": 128, "embedding": 128, "dropout": 0.2}
            made[name] = {"type": "hierarchical", "words": words, "sentences": {"size": 128, "dropout": 0.2}}
        else:
            made[name] = {}
    if len(inputs) == 1 or all(one is recurrent for one in made.values()):
        shared = next(iter(made.values()))
        return {"encoder": shared} if shared else {}
    return {"encoder": made}


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
    measured: dict[str, Any] = {}
    if "scheme" in output:  # tags that mark spans are measured by the spans
        training["metric"] = "chunk_f1"
        measured = {"metrics": ["chunk_f1", *column.usual]}
    elif column.usual:
        training["metric"] = column.usual[0]
    takes = "attention" in part("decoder", column.decoder).Options.model_fields
    return {**measured, **(attention if takes else {})}


def _metrics(targets: Sequence[str], unit: str) -> list[str]:
    """Error rates of the output's unit, or BLEU and chrF for sentences."""
    if unit == "char":
        return ["cer", "exact"]
    return ["token_error", "exact"] if is_code(targets) else ["bleu", "chrf"]
