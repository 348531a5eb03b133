"""What a model is, as validated data: YAML in, errors with a path and a fix out. Knows nothing of torch."""

from regard.spec.attention import AttentionSpec
from regard.spec.columns import AlignmentSpec, ColumnSpec, LabelSpec, TagsSpec, TextSpec
from regard.spec.consistency import attentions
from regard.spec.data import DataSpec
from regard.spec.decoders import DecoderSpec, LabelDecoderSpec, RecurrentDecoderSpec, TagsDecoderSpec
from regard.spec.encoders import ConvolutionalEncoderSpec, EncoderSpec, MeanEncoderSpec, RecurrentEncoderSpec
from regard.spec.search import SearchSpec
from regard.spec.spec import Spec
from regard.spec.training import ScheduleSpec, TrainingSpec

__all__ = [
    "AlignmentSpec",
    "AttentionSpec",
    "ColumnSpec",
    "ConvolutionalEncoderSpec",
    "DataSpec",
    "DecoderSpec",
    "EncoderSpec",
    "LabelDecoderSpec",
    "LabelSpec",
    "MeanEncoderSpec",
    "RecurrentDecoderSpec",
    "RecurrentEncoderSpec",
    "ScheduleSpec",
    "SearchSpec",
    "Spec",
    "TagsDecoderSpec",
    "TagsSpec",
    "TextSpec",
    "TrainingSpec",
    "attentions",
]
