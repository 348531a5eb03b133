"""What a model is, as validated data: YAML in, errors with a path and a fix out. Knows nothing of torch."""

from regard.spec.attention import AttentionSpec, HardSpec
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
from regard.spec.perception import (
    AudioSpec,
    ImageEncoderSpec,
    ImageSpec,
    PerceivedSpec,
    PictureAugmentSpec,
    PlacesSpec,
    PyramidEncoderSpec,
    SeriesAugmentSpec,
    SeriesSpec,
    SoundAugmentSpec,
    VideoEncoderSpec,
    VideoSpec,
)
from regard.spec.places import places_between
from regard.spec.reading import trees_of
from regard.spec.search import SearchSpec
from regard.spec.spec import Spec
from regard.spec.stories import question_of, story_of
from regard.spec.training import TrainingSpec

__all__ = [
    "AlignDecoderSpec",
    "AlignmentSpec",
    "AttentionSpec",
    "AudioSpec",
    "BagEncoderSpec",
    "CharactersSpec",
    "ColumnSpec",
    "ConvolutionalEncoderSpec",
    "DataSpec",
    "DecoderSpec",
    "EncoderSpec",
    "FactsDecoderSpec",
    "FactsSpec",
    "HardSpec",
    "ImageEncoderSpec",
    "ImageSpec",
    "LabelDecoderSpec",
    "LabelSpec",
    "MeanEncoderSpec",
    "ParentsSpec",
    "PerceivedSpec",
    "PictureAugmentSpec",
    "PlacesSpec",
    "PositionsSpec",
    "PyramidEncoderSpec",
    "RecurrentDecoderSpec",
    "RecurrentEncoderSpec",
    "SearchSpec",
    "SeriesAugmentSpec",
    "SeriesSpec",
    "SharedEncoderSpec",
    "SoundAugmentSpec",
    "Spec",
    "StoryEncoderSpec",
    "StorySpec",
    "TagsDecoderSpec",
    "TagsSpec",
    "TextSpec",
    "TrainingSpec",
    "TreeDecoderSpec",
    "TreeSpec",
    "VideoEncoderSpec",
    "VideoSpec",
    "attentions",
    "places_between",
    "question_of",
    "story_of",
    "trees_of",
]
