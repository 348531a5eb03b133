"""Every key of a spec as a page, made from the classes themselves: `python -m regard.spec.reference > docs/spec.md`."""

from __future__ import annotations

import typing
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard import spec as parts
from regard.parts import names, part
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
    "training": [parts.TrainingSpec, *(part("schedule", name).Options for name in names("schedule"))],
    "data": [parts.DataSpec],
}
TITLES = {
    ScheduledSamplingSpec: "scheduled_sampling",
    **{part("schedule", name).Options: f"schedule: {name}" for name in names("schedule")},
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
    for section, classes in SECTIONS.items():
        lines += ["", f"## {section}"]
        for options in classes:
            lines += ["", *_part(options, alone=len(classes) == 1)]
    return "\n".join(lines) + "\n"


def _part(part: type[BaseModel], *, alone: bool) -> list[str]:
    kind = part.model_fields.get("type")
    named = "" if kind is None or part in TITLES else f"type: {get_args(kind.annotation)[0]}"
    title = TITLES.get(part, named)
    lines = [] if alone or not title else [f"### {title}", ""]
    about = (getattr(part, "part", None) or part).__doc__
    if about and not about.startswith("!!!"):
        lines += [about.strip().split("\n\n")[0], ""]
    lines += ["| key | value | default | |", "|---|---|---|---|"]
    for name, field in part.model_fields.items():
        if name == "type" and part not in TITLES:
            continue
        told = " ".join((field.description or "").split())
        lines.append(f"| `{name}` | {_value(field)} | {_default(field)} | {told} |")
    return lines


def _value(field: FieldInfo) -> str:
    kinds = [marker.kind for marker in field.metadata if isinstance(marker, OneOf)]
    parts_of = [f"`{name}`" for kind in kinds for name in names(kind)]
    return ", ".join(parts_of) or _type(field.annotation)


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0])
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
