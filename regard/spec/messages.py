"""Turn what pydantic found into one sentence with a place, what came, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from regard.errors import RegardError
from regard.parts import names, part
from regard.parts.choice import OneOf, suggestion
from regard.spec.document import Document, Place

EXPECTED = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "a mapping of options"),
    "tuple_type": "a list",
}
"""What pydantic calls by the name of a class."""


def explain(
    error: ValidationError,
    root: type[BaseModel],
    document: Document,
    full: Mapping[str, Any],
    written: Mapping[Place, Place],
) -> RegardError:
    """The first mistake, with a count of the others."""
    mistakes = _by_place(error.errors(include_url=False), full, written)
    # An unknown key is the likeliest cause of everything else that is wrong nearby.
    place, first = min(mistakes.items(), key=lambda found: found[1]["type"] != "extra_forbidden")
    what, fix = _sentence(first, root)
    if len(mistakes) > 1:
        others = len(mistakes) - 1
        fix = f"{fix} ({others} more {'mistake' if others == 1 else 'mistakes'} after this one.)".strip()
    return RegardError(what, where=document.where(place), fix=fix)


def as_written(place: Place, written: Mapping[Place, Place]) -> Place:
    """Where the person wrote what the full form has at this place."""
    for length in range(len(place), 0, -1):
        if place[:length] in written:
            return (*written[place[:length]], *place[length:])
    return place


def nearest(word: str, known: list[str]) -> str:
    """` Did you mean size?` or the whole list when nothing is near."""
    match = difflib.get_close_matches(word, known, n=1, cutoff=0.55)
    return f"Did you mean {match[0]}?" if match else f"Known: {', '.join(sorted(known))}."


def _by_place(
    mistakes: Sequence[Any], full: Mapping[str, Any], written: Mapping[Place, Place]
) -> dict[Place, dict[str, Any]]:
    """One mistake for each place: options of several encoders are written once, and a value that may be one of two
    things is neither, which is said of the one that it is most like."""
    found: dict[Place, dict[str, Any]] = {}
    for mistake in mistakes:
        found.setdefault(as_written(_place(mistake, full), written), mistake)
    return {
        place: mistake
        for place, mistake in found.items()
        if not any(place == other[: len(place)] for other in found if other != place)
    }


def _place(mistake: Mapping[str, Any], full: Mapping[str, Any]) -> Place:
    """pydantic's location without the steps that are its own and in no text: the tag of a union
    (encoder.source.recurrent.size), its kind of value, the index into a list of one that was written without [ ]."""
    place: list[str | int] = []
    current: Any = full
    location = mistake["loc"]
    for index, step in enumerate(location):
        # a key may be called as the tag is, which comes before it
        tag = isinstance(current, Mapping) and current.get("type") == step and index < len(location) - 1
        if not tag and _holds(current, step):
            place.append(step)
            current = current[step]
    if mistake["type"] == "missing" and isinstance(location[-1], str):
        place.append(location[-1])
    if mistake["type"] == "union_tag_invalid":
        place.append("type")
    return tuple(place)


def _holds(value: Any, step: str | int) -> bool:
    if isinstance(value, Mapping):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)


def _sentence(mistake: dict[str, Any], root: type[BaseModel]) -> tuple[str, str]:
    kind, received, context = mistake["type"], mistake.get("input"), mistake.get("ctx") or {}
    last = mistake["loc"][-1]
    if kind == "extra_forbidden":
        return f"unknown key {last!r}.", nearest(str(last), _keys_at(root, mistake["loc"][:-1]))
    if kind == "missing":
        missing = f"the key {last!r}" if isinstance(last, str) else f"item {last + 1}"
        return f"{missing} is missing.", ""
    if kind in EXPECTED:
        return f"expected {EXPECTED[kind]}, received {received!r}.", ""
    if kind in ("literal_error", "union_tag_invalid"):
        expected = str(context.get("expected") or context.get("expected_tags") or "")
        options = [option.strip(" '") for option in expected.replace(" or ", ", ").split(",")]
        value = context.get("tag", received)
        return f"{value!r} is not one of {', '.join(options)}.", nearest(str(value), options).replace(
            f"Known: {', '.join(sorted(options))}.", ""
        ).strip()
    if kind == "union_tag_not_found":
        return "the key 'type' is missing.", ""
    if kind == "unknown_part":
        name = context["name"].strip("'")
        return f"there is no {context['kind']} {name!r}.", suggestion(context["kind"], name)
    if kind == "value_error":
        return str(context.get("error", mistake["msg"])), ""
    message = mistake["msg"].replace("Input should be", "expected").rstrip(".")
    return f"{message[0].lower()}{message[1:]}, received {received!r}.", ""


def _keys_at(root: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """The keys that would have been known at this place."""
    current: list[type[BaseModel]] = [root]
    for step in location:
        following: list[type[BaseModel]] = []
        for model in current:
            if isinstance(step, str) and step in model.model_fields:
                field = model.model_fields[step]
                following += _models_in(field.annotation)
                for kind in (marker.kind for marker in field.metadata if isinstance(marker, OneOf)):
                    following += [part(kind, name).Options for name in names(kind)]
        if following:
            current = following
        elif isinstance(step, str):
            tagged = [model for model in current if _tag(model) == step]
            current = tagged or current
    return [key for model in current for key in model.model_fields]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _tag(model: type[BaseModel]) -> str | None:
    declared = model.model_fields.get("type")
    options = get_args(declared.annotation) if declared else ()
    return str(options[0]) if options else None
