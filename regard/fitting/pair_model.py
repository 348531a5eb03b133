"""The encoder and decoder for a file of pairs, and the notes on what was inferred.

Each note has the setting that changes it. The encoder and decoder are the inferred ones, or those of the user's choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from regard.data.readers import FileRows
from regard.errors import FILE, NAME, OPEN, Message, Option, RegardError, Setting, Together, Words
from regard.fitting.pair_columns import TARGET, Chosen, alike_labels, is_thousands
from regard.parts import names, nearest, part
from regard.spec import Spec
from regard.spec.document import Change, Document, changed, settings

MODEL = "model"
"""The setting that chooses encoder and decoder by one name. It is no key of a spec."""
KINDS = ("encoder", "decoder")


def without_model(changes: Sequence[Change]) -> tuple[list[Setting], str | None]:
    """The other changes, and the value of `model`."""
    given = settings(changes)
    chosen = [one.value for one in given if one.path == MODEL]
    return [one for one in given if one.path != MODEL], str(chosen[-1]) if chosen else None


def refuse_model(changes: Sequence[Change], what: str) -> None:
    """`model` is for data files; a spec names its parts."""
    _, chosen = without_model(changes)
    if chosen is not None:
        raise RegardError(
            Message(Option(MODEL), " works only with a data file; a spec names its encoder and decoder."),
            where=what,
            fix=f"Write  encoder: {chosen}  and  decoder: {chosen}  into the spec.",
        )


def choose_parts(document: dict[str, Any], changes: Sequence[Setting], model: str | None) -> None:
    """Put the encoder and decoder of the user's choice into an inferred document, in place of the inferred ones.

    model   a name: of an encoder that can read the inputs, of a decoder that can write the outputs,
            or of both
    """
    if model is not None:
        _check_model(document, model)
        for kind in KINDS:
            if model in _fitting(document, kind):
                _put(document, kind, model)
    if any(one.path.startswith("decoder.attention") for one in changes) and "attention" in document:
        document.setdefault("decoder", {})["attention"] = document.pop("attention")
    for kind in KINDS:
        name = _overridden(document, kind, changes)
        if name is not None:
            _put(document, kind, name)
    _warm_up(document)


def alternatives(document: Mapping[str, Any]) -> list[str]:
    """The names for `model` that are made for small data, the present one first."""
    return [name for name in _fitting(document, "encoder") if part("encoder", name).small]


def _fitting(document: Mapping[str, Any], kind: str) -> list[str]:
    """The encoders that can read all inputs, or the decoders that can write all outputs."""
    given = document["inputs" if kind == "encoder" else "outputs"].values()
    columns = [part("column", column["type"]) for column in given]
    takes = "reads" if kind == "encoder" else "writes"
    return [
        name
        for name in names(kind)
        if all(column is not None and column.can_be(*getattr(part(kind, name), takes)) for column in columns)
    ]


def _check_model(document: Mapping[str, Any], model: str) -> None:
    fitting = sorted({name for kind in KINDS for name in _fitting(document, kind)})
    if model in fitting:
        return
    known = any(model in names(kind) for kind in KINDS)
    raise RegardError(
        f"{model!r} cannot read these inputs or write these outputs."
        if known
        else f"there is no encoder or decoder {model!r}.",
        where=Option(MODEL),
        fix=f"Use one of {', '.join(fitting)}." if known else nearest(model, fitting),
    )


def _overridden(document: Mapping[str, Any], kind: str, changes: Sequence[Setting]) -> str | None:
    """The name of the part that changes choose instead of the inferred one, however they write it."""
    mine = [one for one in changes if one.steps[0] == kind]
    given = changed(Document({kind: document.get(kind)}), mine).data.get(kind) if mine else None
    if isinstance(given, Mapping) and not isinstance(given.get("type"), str):
        entries = [one for one in given.values() if isinstance(one, Mapping) and "type" in one]
        given = entries[0] if len(entries) == 1 else None
    name = given.get("type") if isinstance(given, Mapping) else given
    before = (document.get(kind) or {}).get("type")
    return name if isinstance(name, str) and name != before and part(kind, name) is not None else None


def _put(document: dict[str, Any], kind: str, name: str) -> None:
    """Replace a part. It keeps those of the inferred options that it has too, unless it has its own for small data."""
    wanted = part(kind, name)
    known = wanted.Options.model_fields
    inferred = document.get(kind) or {}
    kept = {key: value for key, value in inferred.items() if key in known and key != "type"}
    document[kind] = {"type": name, **kept, **wanted.small}
    if kind == "decoder" and "attention" not in known:
        document.pop("attention", None)


def _warm_up(document: dict[str, Any]) -> None:
    """Let the learning rate rise at first, if a part needs it."""
    chosen = [part(kind, str((document.get(kind) or {}).get("type"))) for kind in KINDS]
    needed = max((one.warmup for one in chosen if one is not None), default=0)
    if needed:
        schedule = document["training"].get("schedule") or {"type": "constant"}
        document["training"]["schedule"] = {**schedule, "warmup": needed}


class Note(NamedTuple):
    """An inference: its subject, the decision, and the option that changes it."""

    what: str
    decided: str
    change: Words


def notes_on(spec: Spec, chosen: Chosen, read: FileRows, format: str | None) -> list[Note]:
    """Notes on what was inferred, after the changes of the user."""
    target = spec.outputs[TARGET]
    known = [field.name for field in read.found()]
    headed = read.reader.delimited and not all(name.isdecimal() for name in known)
    sides = {**chosen.inputs, TARGET: chosen.target}
    places = {
        side: field if field in known or field != side else str(place)
        for place, (side, field) in enumerate(sides.items(), 1)
    }
    columns = ", ".join(f"{side}: {'column ' * place.isdecimal()}{place}" for side, place in places.items())
    units = [f"{side}: {_unit(column)}" for side, column in {**spec.inputs, TARGET: target}.items()]
    measured = ", ".join(spec.metrics or part("column", target.type).usual or ("loss",))
    group = spec.data.group
    of = "distinct inputs" if group in (None, "none") else f"values of {group}, with all their rows,"
    hold_out = f"{100 * spec.data.hold_out:g} % of the {of} are held out"
    notes = [
        Note(
            "columns",
            columns + (" (the first line is a header)" if headed else ""),
            Together(Option("source", NAME), Option("target", NAME)),
        ),
        Note("units", "; ".join(units), _changes(spec)),
        Note("metrics", measured, Setting("metrics", [measured.split(", ")[0]])),
        Note(
            "split",
            f"dev: {', '.join(spec.data.dev) if spec.data.dev else hold_out}; "
            f"test: {', '.join(spec.data.test) or 'none'}",
            Together(Setting("data.dev", FILE), Setting("data.test", FILE)),
        ),
    ]
    if len(read.files) > 1:
        notes = notes[1:]
    if format is not None:
        notes.insert(0, Note("format", f"{format} ({read.reader.about})", Setting("data.format", NAME)))
    return notes


def _changes(spec: Spec) -> Words:
    """The settings that change the units."""
    name, column = next(iter(spec.inputs.items()))
    changes: list[Words] = []
    if column.part.is_text:
        changes += [Setting(f"inputs.{name}.unit", "word|char|subword|byte"), ", "]
    if getattr(column, "split", "space") != "space":
        changes += [Setting(f"inputs.{name}.split", "space"), ", "]
    of_text = spec.outputs[TARGET].part.is_text
    target = Setting(f"outputs.{TARGET}.unit", OPEN) if of_text else Setting(f"outputs.{TARGET}.type", "text")
    return Message(*changes, target)


def model_note(spec: Spec, document: dict[str, Any]) -> Note:
    """Encoders and decoder, and the names of others that suit."""
    encoders, decoder = dict.fromkeys(one.type for one in spec.encoder.values()), spec.decoder[TARGET]
    looking = " with attention" if getattr(decoder, "attention", None) else ""
    others = alternatives(document)
    return Note(
        "model",
        f"{' and '.join(encoders)} encoder, {decoder.type} decoder{looking}",
        Option("model", "|".join(others)) if others else Setting("encoder.type", NAME),
    )


def warnings_of(output: dict[str, Any], targets: Sequence[str]) -> list[Words]:
    """Inferred types that a user may not expect."""
    if len({value.strip() for value in targets}) == 1:
        return [f"All targets are {targets[0].strip()[:40]!r}: there is nothing to learn."]
    if output["type"] == "multilabel":
        sign = output.get("separator", "|")
        shown = next((value for value in targets if sign in value), "")
        as_label = Setting("outputs.target.type", "label")
        told = f"Targets such as {shown[:40]!r} are read as several labels, separated by {sign!r}. "
        return [Message(told, "To take each combination as one class:  ", as_label)] if shown else []
    if output["type"] == "label":
        alike = alike_labels(targets)
        return [] if alike is None else [alike]
    if output["type"] == "text" and all(value.strip().endswith("%") for value in targets):
        return ["The targets are percentages and are read as text. To predict numbers, remove the % signs."]
    plain = [value for value in targets if not is_thousands(value)]
    if (
        output["type"] == "text"
        and len(plain) < len(targets)
        and all(one.strip().isdecimal() for one in plain)
    ):
        as_number = [Setting("outputs.target.type", "number"), Setting("outputs.target.decimal", "comma")]
        return [
            Message(
                "The targets have commas before three digits and are read as text. To predict numbers, remove the "
                "commas, or, for decimal commas:  ",
                Together(*as_number),
            )
        ]
    return []


def _unit(column: Any) -> str:
    if column.part.is_text:
        return f"{column.type} by {column.unit}" + (
            ", punctuation split off" if column.split == "punctuation" else ""
        )
    return f"{column.type} ({column.scheme} spans)" if getattr(column, "scheme", None) else str(column.type)
