"""Other values of an option: derived from its type, or listed if no rule can find one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from regard.parts import names
from regard.parts.choice import OneOf
from regard.testing.specs import Context, small
from regard.testing.tiny import write_tiny_encoder, write_tiny_speech_encoder

GIVEN: dict[str, list[Any]] = {
    "text.shared": ["target", "question"],
    "text.copied_from": ["source"],
    "story.shared": ["story"],
    "alignment.of": [["question", "target"]],
    "facts.of": ["tale"],
    "evidence.of": ["paper"],
    "document.shared": ["document"],
    "places.of": [["film", "target"]],
    "ctc.upsample": [7, 8],
    "ctc.over": [["question"]],
    "ordinal.class_weights": ["balanced", {"10": 3.0}],
    "label.classes": [["no", "maybe", "yes"], ["yes", "no"]],
    "multilabel.classes": [["c", "b", "a"], ["a", "b"]],
    "multilabel.separator": [","],
    "soft-label.classes": [["yes", "no", "maybe"], ["yes", "no"]],
    "ordinal.classes": [["10", "2", "1"], ["1", "2"]],
    "label_words.of": [["question", "topics"]],
    "span.of": ["question"],
    "weight.of": ["topic", "value"],
    "constituents.of": ["other"],
    "tags.of": ["other"],
    "tree.of": ["other"],
    "pointers.of": ["others"],
    "brackets.of": ["bush"],
    "nodes.over": [["brackets"]],
    "bits.of": ["noise"],
    "machine.over": [["signals"]],
    "story.mark": ["!"],
    "dialog.mark": ["/"],
    "dialog.shared": ["dialog"],
    "candidates.mark": ["é"],
    "candidate.candidates": [str(Path(__file__).with_name("candidates.txt"))],
    "candidate.of": ["proposed"],
    "memory-retrieval.over": [["dialog", "said"]],
    "memory-retrieval.query": ["answering"],
    "memory-retrieval.attention.over": ["talk"],
    "series.unit": [[0, 1]],
    "shared.of": ["other"],
    "bag.like": ["story"],
    "cldr.locale": ["ru"],
    "timm.name": ["resnet34"],
    "pretrained.layers": ["mix", 0, 1],
    "pretrained-audio.layers": ["mix", 0],
    "memory-network.over": [["story", "asking"]],
    "memory-network.query": ["wanting"],
    "memory-network.attention.over": ["tale"],
    "pointer.over": [["others", "points"]],
    "recurrent.copy_.from_": ["question"],
    "query": ["question"],
    "over": [["source"]],
    "decomposable.over": [["other", "source"], ["question", "source"]],
    "word-by-word.over": [["other", "source"], ["question", "source"]],
    "attention.over": ["question"],
    "attention.truth": ["links", "elsewhere", "hints"],
    "class_weights": ["balanced", {"yes": 3.0}, {"I-X": 3.0}],
    "condition": [["every-step"], ["attention"], ["start", "every-step", "attention"]],
    "audio.max_seconds": [0.35],
    "channels": [[5, 4], [3, 4, 5]],
    "size": [9, 12, [16, 20]],
    "cutoffs": [[3], [2, 5]],
}
"""By `part.option`, or by `option` of any part."""


@dataclass(frozen=True)
class Others:
    """Each of `choices`, and one of `samples`, must have an effect or be refused."""

    choices: list[Any]
    samples: list[Any]


def other_values(part: str, dotted: str, field: FieldInfo, context: Context, vectors: str) -> Others:
    """Other values of an option; `dotted`: its path below the part, `vectors`: a file of vectors."""
    last = dotted.rpartition(".")[2]
    if (part, dotted) == ("pretrained", "model"):
        other = Path(vectors).with_name("encoder")
        write_tiny_encoder(other, seed=1)
        return Others([str(other)], [])
    if (part, dotted) == ("pretrained-audio", "model"):
        other = Path(vectors).with_name("speech-encoder")
        write_tiny_speech_encoder(other, "wav2vec2", seed=1)
        return Others([str(other)], [])
    if dotted.endswith("embedding.vectors"):
        return Others([vectors.replace("vectors.txt", "others.txt")], [])
    if dotted.endswith("embedding.size"):
        return Others([], [5])
    if last == "field":
        return Others([f"{context.path[-1]}_too"], [])
    if last == "over" and len(context.document["encoder"]) == 1:
        return Others([], [])
    for key in (f"{part}.{dotted}", dotted, last):
        if key in GIVEN and (key != "size" or part in ("image", "video")):
            return Others([], GIVEN[key])
    return of_type(field, held(field, last, context))


def of_type(field: FieldInfo, current: Any) -> Others:
    """Other values that the type of an option allows."""
    choices, samples = _of_type(field.annotation, field.metadata, current)
    adapter = TypeAdapter(
        Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    )
    return Others(choices, [value for value in samples if _legal(adapter, value)])


def held(field: FieldInfo, name: str, context: Context) -> Any:
    """The current value of an option."""
    given = context.get()
    if isinstance(given, dict) and name in given:
        return given[name]
    return field.get_default(call_default_factory=True)


def _of_type(annotation: Any, metadata: Sequence[Any], current: Any) -> tuple[list[Any], list[Any]]:
    """Values that are distinct choices, and interchangeable numbers."""
    for mark in metadata:
        if isinstance(mark, OneOf):
            chosen = current.get("type") if isinstance(current, dict) else getattr(current, "type", current)
            return [small(mark.kind, name) for name in names(mark.kind) if name != chosen], []
    if get_origin(annotation) is Annotated:
        return _of_type(annotation.__origin__, annotation.__metadata__, current)
    if get_origin(annotation) is Literal:
        return [value for value in get_args(annotation) if value != current], []
    if annotation is bool:
        return [not current], []
    if annotation is int:
        base = current if isinstance(current, int) else 5
        return [], [one for one in (2, 3, 1, base + 1, base + 2, 2 * base, 0) if one != current]
    if annotation is float:
        base = current if isinstance(current, int | float) else 0.3
        return [], [one for one in (0.5, base * 2, base / 2, 0.05, 1.0, 30.0, 0.0) if one != current]
    every: list[Any] = []
    some: list[Any] = []
    for argument in get_args(annotation):
        if argument is NoneType:
            every += [None] if current is not None else []
        else:
            more, numbers = _of_type(argument, (), current)
            every, some = every + more, some + numbers
    return every, some


def _legal(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value)
    except ValidationError:
        return False
    return True
