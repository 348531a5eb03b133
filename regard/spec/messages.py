"""Turn what pydantic found into one sentence with a place, what came, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from regard.errors import RegardError
from regard.spec.document import Document, Place

TAGS = {"text", "label", "tags", "alignment", "recurrent", "convolutional", "mean"}


def explain(
    error: ValidationError, root: type[BaseModel], document: Document, written: Mapping[Place, Place]
) -> RegardError:
    """The first mistake, with a count of the others."""
    mistakes = error.errors(include_url=False)
    # An unknown key is the likeliest cause of everything else that is wrong nearby.
    mistakes.sort(key=lambda mistake: mistake["type"] != "extra_forbidden")
    first = mistakes[0]
    place = _without_tags(first["loc"], document)
    shown = _as_written(place, written)
    what, fix = _sentence(dict(first), place, root)
    if len(mistakes) > 1:
        others = len(mistakes) - 1
        fix = f"{fix} ({others} more {'mistake' if others == 1 else 'mistakes'} after this one.)".strip()
    return RegardError(what, where=document.where(shown), fix=fix)


def nearest(word: str, known: list[str]) -> str:
    """` Did you mean size?` or the whole list when nothing is near."""
    match = difflib.get_close_matches(word, known, n=1, cutoff=0.55)
    return f"Did you mean {match[0]}?" if match else f"Known: {', '.join(sorted(known))}."


def _without_tags(location: tuple[str | int, ...], document: Document) -> Place:
    """pydantic puts the tag of a union into the location (encoder.source.recurrent.size): take it out again."""
    place: list[str | int] = []
    for index, step in enumerate(location):
        after_name = len(place) == 2 and place[0] in ("inputs", "outputs", "truth", "encoder", "decoder")
        if after_name and step in TAGS and index == 2:
            continue
        place.append(step)
    return tuple(place)


def _as_written(place: Place, written: Mapping[Place, Place]) -> Place:
    for length in range(len(place), 0, -1):
        if place[:length] in written:
            rest = place[length:]
            # one attention written as a mapping is held as a tuple of one: drop its index
            if rest and rest[0] == 0:
                rest = rest[1:]
            return (*written[place[:length]], *(step for step in rest if step != 0))
    return place


def _sentence(mistake: dict[str, Any], place: Place, root: type[BaseModel]) -> tuple[str, str]:
    kind, received, context = mistake["type"], mistake.get("input"), mistake.get("ctx") or {}
    last = str(place[-1]) if place else ""
    if kind == "extra_forbidden":
        return f"unknown key {last!r}.", nearest(last, _keys_at(root, mistake["loc"][:-1]))
    if kind == "missing":
        return f"the key {last!r} is missing.", ""
    if kind in ("literal_error", "union_tag_invalid"):
        expected = str(context.get("expected") or context.get("expected_tags") or "")
        options = [option.strip(" '") for option in expected.replace(" or ", ", ").split(",")]
        value = context.get("tag", received)
        return f"{value!r} is not one of {', '.join(options)}.", nearest(str(value), options).replace(
            f"Known: {', '.join(sorted(options))}.", ""
        ).strip()
    if kind == "union_tag_not_found":
        return "the key 'type' is missing.", ""
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
                following += _models_in(model.model_fields[step].annotation)
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
