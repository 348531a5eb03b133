"""Every key of a spec as a page, made from the classes themselves: `python -m regard.spec.reference > docs/spec.md`."""

from __future__ import annotations

import typing
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard import spec as parts
from regard.parts import Options, names, origin, part
from regard.parts.choice import OneOf
from regard.spec.decoders import ScheduledSamplingSpec

SECTIONS: dict[str, list[type[BaseModel]]] = {
    "inputs, outputs, truth": [
        parts.TextSpec,
        parts.StorySpec,
        parts.LabelSpec,
        parts.TagsSpec,
        parts.TreeSpec,
        parts.AlignmentSpec,
        parts.FactsSpec,
        parts.ImageSpec,
        parts.PictureAugmentSpec,
        parts.VideoSpec,
        parts.SeriesSpec,
        parts.SeriesAugmentSpec,
        parts.AudioSpec,
        parts.SoundAugmentSpec,
        parts.PlacesSpec,
    ],
    "encoder": [
        parts.RecurrentEncoderSpec,
        parts.ConvolutionalEncoderSpec,
        parts.MeanEncoderSpec,
        parts.CharactersSpec,
        parts.BagEncoderSpec,
        parts.StoryEncoderSpec,
        parts.ParentsSpec,
        parts.ImageEncoderSpec,
        parts.VideoEncoderSpec,
        parts.PyramidEncoderSpec,
        parts.SharedEncoderSpec,
    ],
    "attention": [parts.AttentionSpec, parts.HardSpec],
    "decoder": [
        parts.RecurrentDecoderSpec,
        ScheduledSamplingSpec,
        parts.LabelDecoderSpec,
        parts.AlignDecoderSpec,
        parts.TagsDecoderSpec,
        parts.TreeDecoderSpec,
        parts.FactsDecoderSpec,
    ],
    "search": [parts.SearchSpec],
    "training": [parts.TrainingSpec, parts.ScheduleSpec],
    "data": [parts.DataSpec],
}
REGISTERED = {"data.world": "world", "data.package": "package", "data.format": "reader"}
"""Keys whose values are parts, and the kind of these."""
TITLES = {
    ScheduledSamplingSpec: "scheduled_sampling",
    parts.ScheduleSpec: "schedule",
    parts.HardSpec: "hard",
    parts.CharactersSpec: "characters",
    parts.ParentsSpec: "parents",
    parts.PictureAugmentSpec: "augment of pictures",
    parts.SeriesAugmentSpec: "augment of series",
    parts.SoundAugmentSpec: "augment of sounds",
}


def page() -> str:
    lines = [
        "# Every key of a spec",
        "",
        "Made from the code (`python -m regard.spec.reference > docs/spec.md`). Unknown keys are refused, with the",
        "nearest known one. `encoder`, `decoder` and `attention` may be written once where there is one of each; see",
        "[the guide](guide.md).",
    ]
    registered = {key: _ours(kind) for key, kind in REGISTERED.items()}
    for section, classes in (SECTIONS | registered).items():
        lines += ["", f"## {section}"]
        for options in classes:
            lines += ["", *_part(options, alone=len(classes) == 1)]
    return "\n".join(lines) + "\n"


def _ours(kind: str) -> list[type[BaseModel]]:
    """The parts of a kind that come with this package."""
    every = [part(kind, name) for name in names(kind)]
    return [made for made in every if origin(made).distribution == "regard"]


def _part(options: type[BaseModel], *, alone: bool) -> list[str]:
    title = TITLES.get(options, _name(options))
    lines = [] if alone or not title else [f"### {title}", ""]
    if options.__doc__ and not options.__doc__.startswith("!!!"):
        lines += [options.__doc__.strip().split("\n\n")[0], ""]
    rows = []
    for name, field in options.model_fields.items():
        if name == "type" and options not in TITLES:
            continue
        about = " ".join((field.description or "").split())
        rows.append(f"| `{name}` | {_type(field.annotation)} | {_default(field)} | {about} |")
    return lines + (["| key | value | default | |", "|---|---|---|---|", *rows] if rows else ["No options."])


def _name(options: type[BaseModel]) -> str:
    if issubclass(options, Options) and options.type:
        return f"type: {options.type}"
    kind = options.model_fields.get("type")
    return "" if kind is None else f"type: {get_args(kind.annotation)[0]}"


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        chosen = [mark.kind for mark in arguments if isinstance(mark, OneOf)]
        return f"a {chosen[0]}" if chosen else _type(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return (
            f"list of {_type(arguments[0])}"
            if arguments[-1] is Ellipsis
            else f"{len(arguments)} × {_type(arguments[0])}"
        )
    if origin is dict:
        return "mapping"
    if arguments:
        return " or ".join(_type(argument) for argument in arguments if argument is not NoneType)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return TITLES.get(annotation, annotation.__name__.removesuffix("Spec").lower())
    return {int: "whole number", float: "number", str: "text", bool: "true, false"}.get(annotation, "any")


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "**needed**"
    value = field.default
    if value is None or value in ((), {}, "") or isinstance(value, BaseModel):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    print(page(), end="")
