"""Turn validation errors of pydantic into sentences: the location, the value received, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from regard.errors import RegardError, Words
from regard.parts import Options, names, nearest
from regard.parts.choice import OneOf, Section, suggestion
from regard.spec.document import Document, Place

EXPECTED = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "a mapping of options"),
    "tuple_type": "a list",
}
"""Plain words for types that pydantic names by class."""


def explain(
    error: ValidationError,
    root: type[BaseModel],
    document: Document,
    full: Mapping[str, Any],
    written: Mapping[Place, Place],
    *,
    within: Place = (),
) -> RegardError:
    """One error with all mistakes, each with location and remedy. Unknown keys come first: they often cause the
    others.

    within   the path of what was validated, if that is a section of the document
    """
    found = [{**one, "loc": (*within, *one["loc"])} for one in error.errors(include_url=False)]
    mistakes = _by_place(found, full, written)
    ordered = sorted(mistakes.items(), key=lambda found: found[1]["type"] != "extra_forbidden")
    told = []
    for place, mistake in ordered:
        what, fix = _sentence(mistake, root, full)
        told.append(RegardError(what, where=document.where(place), fix=fix))
    return RegardError.of_all(told)


def as_written(place: Place, written: Mapping[Place, Place]) -> Place:
    """The path as the user wrote it, from a path of the full form."""
    for length in range(len(place), 0, -1):
        if place[:length] in written:
            return (*written[place[:length]], *place[length:])
    return place


def _by_place(
    mistakes: Sequence[Any], full: Mapping[str, Any], written: Mapping[Place, Place]
) -> dict[Place, dict[str, Any]]:
    """One mistake per path. Options of several encoders may be written once. For a value of a union type, pydantic
    reports a mistake for each alternative; only the most specific one is kept."""
    found: dict[Place, dict[str, Any]] = {}
    for mistake in mistakes:
        found.setdefault(as_written(_place(mistake, full), written), mistake)
    return {
        place: mistake
        for place, mistake in found.items()
        if not any(place == other[: len(place)] for other in found if other != place)
    }


def _place(mistake: Mapping[str, Any], full: Mapping[str, Any]) -> Place:
    """pydantic's location without steps that the user did not write: the alternative of a union, or the index into a
    list of one that was written without [ ]."""
    place: list[str | int] = []
    current: Any = full
    location = mistake["loc"]
    for step in location:
        if _holds(current, step):
            place.append(step)
            current = current[step]
    if mistake["type"] in ("missing", "missing_part") and isinstance(location[-1], str):
        place.append(location[-1])
    return tuple(place)


def _holds(value: Any, step: str | int) -> bool:
    if isinstance(value, Mapping):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)


def _sentence(mistake: dict[str, Any], root: type[BaseModel], full: Mapping[str, Any]) -> tuple[Words, Words]:
    kind, received, context = mistake["type"], mistake.get("input"), mistake.get("ctx") or {}
    last = mistake["loc"][-1] if mistake["loc"] else ""
    if kind == "extra_forbidden":
        known = _options_at(root, mistake["loc"][:-1], full)
        moves: dict[str, str] = {}
        for model in known:
            moves.update(getattr(model, "moved", {}))
        if last in moves:
            return f"the key {last!r} has moved.", f"Write  {moves[last]}"
        others = _others_with(str(last), mistake["loc"][:-1], root, full)
        if others:
            return f"unknown key {last!r}.", others
        beside = [one for model in known if issubclass(model, Section) for one in model.all_options()]
        fields = [item for model in (*known, *beside) for item in model.model_fields.items()]
        keys = list(dict.fromkeys(field.alias or key for key, field in fields))
        return f"unknown key {last!r}.", _instead(str(last), keys)
    if kind == "unknown_part":
        name = received.get("type") if isinstance(received, Mapping) else received
        return f"{name!r} is not a known {context['kind']}.", suggestion(context["kind"], str(name))
    if kind in ("missing", "missing_part"):
        missing = f"the key {last!r}" if isinstance(last, str) else f"item {last + 1}"
        if "kind" in context:
            return f"{missing} is missing.", f"Known: {', '.join(names(context['kind']))}."
        return f"{missing} is missing.", _add(str(last), _options_at(root, mistake["loc"][:-1], full))
    if kind in EXPECTED:
        return f"expected {EXPECTED[kind]}, received {received!r}.", ""
    if kind == "literal_error":
        expected = str(context.get("expected") or "")
        options = [option.strip(" '") for option in expected.replace(" or ", ", ").split(",")]
        return f"{received!r} is not one of {', '.join(options)}.", nearest(str(received), options).replace(
            f"Known: {', '.join(sorted(options))}.", ""
        ).strip()
    if kind == "value_error":
        cause = context.get("error", mistake["msg"])
        return (cause.what, cause.fix) if isinstance(cause, RegardError) else (str(cause), "")
    message = mistake["msg"].replace("Input should be", "expected").rstrip(".")
    return f"{message[0].lower()}{message[1:]}, received {received!r}.", ""


def _instead(key: str, known: Sequence[str]) -> str:
    """The nearest of the known keys, or the paths at which this key is an option."""
    from regard.spec.keys import SYNONYMS, paths_of

    if ":" in key:
        return f"Write a space after the colon:  {key.replace(':', ': ')}"
    if SYNONYMS.get(key) in known:
        return f"Did you mean {SYNONYMS[key]}?"
    near, elsewhere = nearest(key, known), paths_of(key)
    if elsewhere:
        return f"Did you mean {' or '.join(elsewhere)}?"
    return near or "No options are known here."


def _add(key: str, known: Sequence[type[BaseModel]]) -> str:
    """The remedy for a missing key, with its description."""
    from regard.spec.reference import field_words

    words = " ".join(next((words[key] for words in map(field_words, known) if key in words), "").split())
    return f"Add {key}: {words[0].lower()}{words[1:]}" if words else ""


def _others_with(
    key: str, location: tuple[str | int, ...], root: type[BaseModel], full: Mapping[str, Any]
) -> str:
    """`It is an option of the decoder crf.`: the parts that have the key at the same path; empty if there are none."""
    for length in range(len(location), 0, -1):
        data = _value_at(full, location[:length])
        for chosen in _options_at(root, location[:length], full):
            if not issubclass(chosen, Options) or not chosen.kind:
                continue
            found = [
                name
                for name in names(chosen.kind)
                if _leads(location[length:], name, chosen.kind)
                and any(
                    key in model.model_fields
                    for model in _options_at(OneOf(chosen.kind).options_of(name), location[length:], data)
                )
            ]
            if found:
                return f"It is an option of the {chosen.kind}{'s' * (len(found) > 1)} {', '.join(found)}."
    return ""


def _leads(path: tuple[str | int, ...], name: str, kind: str) -> bool:
    """Whether a part has the option with which a path below it begins."""
    return not path or path[0] in OneOf(kind).options_of(name).model_fields


def _value_at(data: Any, location: tuple[str | int, ...]) -> Any:
    for step in location:
        data = data[step] if _holds(data, step) else data
    return data


def _options_at(
    root: type[BaseModel], location: tuple[str | int, ...], full: Mapping[str, Any]
) -> list[type[BaseModel]]:
    """The classes of options that validate a path of the full form."""
    current: list[Any] = [root]
    data: Any = full
    for step in location:
        fields = [model.model_fields[step] for model in current if step in getattr(model, "model_fields", {})]
        data = data[step] if _holds(data, step) else data
        if fields:
            found = [one for field in fields for one in _chosen((field.annotation, *field.metadata), data)]
        else:  # a key of a mapping or an index of a list
            found = [one for item in current for one in _chosen((item,), data)]
        current = found or current
    return [model for model in current if isinstance(model, type) and issubclass(model, BaseModel)]


def _chosen(annotation: tuple[Any, ...], data: Any) -> list[Any]:
    """The possible types of the data at a path: a class of options, or a part that the data choose."""
    found: list[Any] = []
    for one in annotation:
        if isinstance(one, OneOf):
            try:
                found.append(one.options_of(data))
            except ValidationError:
                found.append(one)  # the choice is one level down, below a name
        elif isinstance(one, type) and issubclass(one, BaseModel):
            found.append(one)
        else:
            found += _chosen((*get_args(one), *getattr(one, "__metadata__", ())), data)
    return found
