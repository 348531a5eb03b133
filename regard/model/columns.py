"""The columns a spec names, made and taught."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import singledispatch
from typing import Any

from regard.data.columns import (
    AlignmentColumn,
    AudioColumn,
    Column,
    FactsColumn,
    ImageColumn,
    LabelColumn,
    PlacesColumn,
    SeriesColumn,
    SpelledTextColumn,
    StoryColumn,
    TagsColumn,
    TextColumn,
    TreeColumn,
    VideoColumn,
)
from regard.data.locating import located, naming_files
from regard.data.readers import Row
from regard.spec import (
    AlignmentSpec,
    AudioSpec,
    FactsSpec,
    ImageSpec,
    LabelSpec,
    PlacesSpec,
    SeriesSpec,
    Spec,
    StorySpec,
    TagsDecoderSpec,
    TagsSpec,
    TextSpec,
    TreeDecoderSpec,
    TreeSpec,
    VideoSpec,
    places_between,
    story_of,
)


@singledispatch
def make_column(part: Any, name: str, spec: Spec) -> Column:
    """The untaught column a part of the spec describes; a new kind registers itself here."""
    raise TypeError(part)


@make_column.register(TextSpec)
def _text(part: TextSpec, name: str, spec: Spec) -> Column:
    spelled = getattr(spec.encoder.get(name), "characters", None) is not None
    return (SpelledTextColumn if spelled else TextColumn)(
        name,
        field=part.field,
        unit=part.unit,
        vocabulary=part.vocabulary,
        min_count=part.min_count,
        normalize=part.normalize,
        case=part.case,
        split=part.split,
        spaces=part.spaces,
        max_length=part.max_length,
    )


@make_column.register(LabelSpec)
def _label(part: LabelSpec, name: str, spec: Spec) -> Column:
    return LabelColumn(name, field=part.field, classes=part.classes)


@make_column.register(TagsSpec)
def _tags(part: TagsSpec, name: str, spec: Spec) -> Column:
    decoder = spec.decoder.get(name)
    allowed = decoder.constraints if isinstance(decoder, TagsDecoderSpec) else "none"
    return TagsColumn(
        name, of=part.of, field=part.field, scheme=part.scheme, allowed=None if allowed == "none" else allowed
    )


@make_column.register(TreeSpec)
def _tree(part: TreeSpec, name: str, spec: Spec) -> Column:
    decoder = spec.decoder.get(name)
    projective = isinstance(decoder, TreeDecoderSpec) and decoder.structure == "projective"
    return TreeColumn(
        name,
        of=part.of,
        field=part.field,
        single_root=part.single_root,
        nonprojective=decoder.nonprojective if projective else "keep",  # type: ignore[union-attr]
    )


@make_column.register(AlignmentSpec)
def _alignment(part: AlignmentSpec, name: str, spec: Spec) -> Column:
    pair = part.of or (next(iter(spec.inputs)), next(iter(spec.outputs)))
    return AlignmentColumn(name, of=pair, field=part.field)


@make_column.register(StorySpec)
def _story(part: StorySpec, name: str, spec: Spec) -> Column:
    words = part.model_dump(exclude={"type", "shared"})
    return StoryColumn(name, **words)


@make_column.register(FactsSpec)
def _facts(part: FactsSpec, name: str, spec: Spec) -> Column:
    return FactsColumn(name, of=story_of(part, spec), field=part.field)


@make_column.register(PlacesSpec)
def _places(part: PlacesSpec, name: str, spec: Spec) -> Column:
    return PlacesColumn(name, of=places_between(part, spec), field=part.field)


@make_column.register(ImageSpec)
def _image(part: ImageSpec, name: str, spec: Spec) -> Column:
    augment = None if part.augment is None else part.augment.model_dump()
    return ImageColumn(
        name, field=part.field, size=part.size, colour=part.colour, fit=part.fit, augment=augment
    )


@make_column.register(VideoSpec)
def _video(part: VideoSpec, name: str, spec: Spec) -> Column:
    return VideoColumn(name, **part.model_dump(exclude={"type"}))


@make_column.register(SeriesSpec)
def _series(part: SeriesSpec, name: str, spec: Spec) -> Column:
    return SeriesColumn(name, **part.model_dump(exclude={"type"}))


@make_column.register(AudioSpec)
def _audio(part: AudioSpec, name: str, spec: Spec) -> Column:
    return AudioColumn(name, **part.model_dump(exclude={"type"}))


def make_columns(spec: Spec) -> dict[str, Column]:
    """Untaught columns: inputs, outputs, truth, in the order of the spec."""
    parts = {**spec.inputs, **spec.outputs, **spec.truth}
    return {name: make_column(part, name, spec) for name, part in parts.items()}


def shared_with(spec: Spec) -> dict[str, str]:
    """{column: the column whose vocabulary it takes}."""
    parts = {**spec.inputs, **spec.outputs}
    return {
        name: shared for name, part in parts.items() if (shared := getattr(part, "shared", None)) is not None
    }


def teach_columns(columns: Mapping[str, Column], spec: Spec, rows: Callable[[], Iterable[Row]]) -> None:
    """Learn vocabularies, classes and means from the training rows; `rows` gives them anew for each column."""
    shared = shared_with(spec)
    for name, column in columns.items():
        if name in shared:
            continue
        fields = [column.field, *(columns[other].field for other, owner in shared.items() if owner == name)]
        found = located(rows(), naming_files([column]))
        column.learn(value for row in found for field in fields if (value := row.get(field)) is not None)
    for name, owner in shared.items():
        columns[name].relearn(columns[owner].learned())
