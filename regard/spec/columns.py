"""The typed fields of the data, as a spec names them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from regard.spec.base import Count, Part
from regard.spec.perception import AudioSpec, ImageSpec, PlacesSpec, SeriesSpec, VideoSpec


class TextSpec(Part):
    """Text, cut into words, characters, bytes or subwords."""

    type: Literal["text"]
    unit: Literal["word", "char", "byte", "subword"] = "word"
    field: str | None = None
    """The field of the row to read; the column's own name when absent."""
    vocabulary: Count | None = None
    """Keep the most frequent so many units; for subwords the size of the model (8000 when absent)."""
    min_count: Count = 1
    normalize: Literal["NFC", "NFKC", "NFD", "NFKD"] | None = "NFC"
    case: Literal["keep", "lower", "marked"] = "keep"
    """marked: lower case with marks from which the case is restored."""
    split: Literal["space", "punctuation"] = "space"
    """punctuation: words and punctuation apart, with marks from which the spacing is restored."""
    spaces: Literal["keep", "drop"] = "keep"
    """drop: characters alone, without the spaces between them."""
    max_length: Count = 500
    shared: str | None = None
    """Take the vocabulary of this other column, learned on both."""


class LabelSpec(Part):
    """One of several classes."""

    type: Literal["label"]
    field: str | None = None
    classes: tuple[str, ...] | None = None


class TagsSpec(Part):
    """One label for each token of another column."""

    type: Literal["tags"]
    of: str
    field: str | None = None
    scheme: Literal["bio", "bioes"] | None = None
    """For tags that mark spans (B-NP I-NP O): the scheme they are turned into; as they stand when absent."""


class TreeSpec(Part):
    """A head for each token of another column: `2:nsubj 0:root`, heads counted from 1, 0 for the root symbol."""

    type: Literal["tree"]
    of: str
    field: str | None = None
    single_root: bool = True
    """Exactly one word hangs from the root symbol; else at least one."""


class AlignmentSpec(Part):
    """Which target token was made from which source tokens: `0-0 1-2`, source-target, counted from 0."""

    type: Literal["alignment"]
    of: tuple[str, str] | None = None
    """(input, output); the only input and the only output when absent."""
    field: str | None = None


class StorySpec(Part):
    """Sentences of words, each ended by a mark: `Mary went to the kitchen. John took the milk.`"""

    type: Literal["story"]
    field: str | None = None
    mark: str = "."
    """What ends a sentence."""
    vocabulary: Count | None = None
    min_count: Count = 1
    normalize: Literal["NFC", "NFKC", "NFD", "NFKD"] | None = "NFC"
    case: Literal["keep", "lower", "marked"] = "keep"
    split: Literal["space", "punctuation"] = "space"
    max_sentences: Count = 500
    max_length: Count = 100
    """Of one sentence, in words."""
    shared: str | None = None


class FactsSpec(Part):
    """The sentences of a story that lead to the answer, in their order: `3 0`, counted from 0."""

    type: Literal["facts"]
    of: str | None = None
    """The story; the only one when absent."""
    field: str | None = None


InputSpec = Annotated[
    TextSpec | StorySpec | TreeSpec | ImageSpec | VideoSpec | SeriesSpec | AudioSpec,
    Field(discriminator="type"),
]
OutputSpec = Annotated[TextSpec | LabelSpec | TagsSpec | TreeSpec, Field(discriminator="type")]
TruthSpec = Annotated[AlignmentSpec | FactsSpec | TreeSpec | PlacesSpec, Field(discriminator="type")]
ColumnSpec = (
    TextSpec
    | StorySpec
    | LabelSpec
    | TagsSpec
    | TreeSpec
    | AlignmentSpec
    | FactsSpec
    | ImageSpec
    | VideoSpec
    | SeriesSpec
    | AudioSpec
    | PlacesSpec
)
