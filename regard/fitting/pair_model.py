"""The encoder and decoder of a spec for a file of pairs: the inferred ones, or those of the user's choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.errors import Message, Option, RegardError, Setting
from regard.parts import names, nearest, part
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
