"""Every key of a spec as a page, made from the classes themselves: `python -m regard.spec.reference > docs/spec.md`."""

from __future__ import annotations

import typing
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard import spec as parts
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
    for section, classes in SECTIONS.items():
        lines += ["", f"## {section}"]
        for part in classes:
            lines += ["", *_part(part, alone=len(classes) == 1)]
    return "\n".join(lines) + "\n"


def _part(part: type[BaseModel], *, alone: bool) -> list[str]:
    kind = part.model_fields.get("type")
    named = "" if kind is None or part in TITLES else f"type: {get_args(kind.annotation)[0]}"
    title = TITLES.get(part, named)
    lines = [] if alone or not title else [f"### {title}", ""]
    if part.__doc__ and not part.__doc__.startswith("!!!"):
        lines += [part.__doc__.strip().split("\n\n")[0], ""]
    lines += ["| key | value | default | |", "|---|---|---|---|"]
    for name, field in part.model_fields.items():
        if name == "type" and part not in TITLES:
            continue
        about = " ".join((field.description or "").split())
        lines.append(f"| `{name}` | {_type(field.annotation)} | {_default(field)} | {about} |")
    return lines


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
