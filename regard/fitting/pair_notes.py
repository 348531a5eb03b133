"""Notes on what was inferred from a file of pairs, each with the setting that changes it, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from regard.data.readers import FileRows
from regard.errors import FILE, NAME, OPEN, Message, Option, Setting, Together, Words
from regard.fitting.pair_columns import TARGET, Chosen
from regard.fitting.pair_model import alternatives
from regard.fitting.pair_types import alike_labels, is_thousands
from regard.parts import part
from regard.spec import Spec


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
