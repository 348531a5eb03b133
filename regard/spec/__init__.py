"""What a model is, as validated data: YAML in, errors with a path and a fix out. Knows nothing of torch."""

from regard.spec.attention import AttentionSpec
from regard.spec.columns import (
    AlignmentSpec,
    ColumnSpec,
    FactsSpec,
    LabelSpec,
    StorySpec,
    TagsSpec,
    TextSpec,
    TreeSpec,
)
from regard.spec.consistency import attentions
from regard.spec.data import DataSpec
from regard.spec.decoders import (
    AlignDecoderSpec,
    DecoderSpec,
    FactsDecoderSpec,
    LabelDecoderSpec,
    RecurrentDecoderSpec,
    TagsDecoderSpec,
    TreeDecoderSpec,
)
from regard.spec.encoders import (
    BagEncoderSpec,
    CharactersSpec,
    ConvolutionalEncoderSpec,
    EncoderSpec,
    MeanEncoderSpec,
    ParentsSpec,
    PositionsSpec,
    RecurrentEncoderSpec,
    SharedEncoderSpec,
    StoryEncoderSpec,
)
from regard.spec.reading import trees_of
from regard.spec.search import SearchSpec
from regard.spec.spec import Spec
from regard.spec.stories import question_of, story_of
from regard.spec.training import ScheduleSpec, TrainingSpec

__all__ = [
    "AlignDecoderSpec",
    "AlignmentSpec",
    "AttentionSpec",
    "BagEncoderSpec",
    "CharactersSpec",
    "ColumnSpec",
    "ConvolutionalEncoderSpec",
    "DataSpec",
    "DecoderSpec",
    "EncoderSpec",
    "FactsDecoderSpec",
    "FactsSpec",
    "LabelDecoderSpec",
    "LabelSpec",
    "MeanEncoderSpec",
    "ParentsSpec",
    "PositionsSpec",
    "RecurrentDecoderSpec",
    "RecurrentEncoderSpec",
    "ScheduleSpec",
    "SearchSpec",
    "SharedEncoderSpec",
    "Spec",
    "StoryEncoderSpec",
    "StorySpec",
    "TagsDecoderSpec",
    "TagsSpec",
    "TextSpec",
    "TrainingSpec",
    "TreeDecoderSpec",
    "TreeSpec",
    "attentions",
    "question_of",
    "story_of",
    "trees_of",
]
