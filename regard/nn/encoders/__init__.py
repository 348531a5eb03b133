from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.encoders.bag import BagEncoder
    from regard.nn.encoders.candidates import CandidatesEncoder
    from regard.nn.encoders.convolutional import ConvolutionalEncoder
    from regard.nn.encoders.encoder import Encoder, owner_of
    from regard.nn.encoders.graph import GraphEncoder
    from regard.nn.encoders.hierarchical import HierarchicalEncoder
    from regard.nn.encoders.image import ImageEncoder
    from regard.nn.encoders.mean import MeanEncoder
    from regard.nn.encoders.mlp import MlpEncoder
    from regard.nn.encoders.points import PointsEncoder
    from regard.nn.encoders.pretrained import PretrainedEncoder
    from regard.nn.encoders.pretrained_audio import PretrainedAudioEncoder
    from regard.nn.encoders.pyramidal import PyramidalEncoder
    from regard.nn.encoders.recurrent import RecurrentEncoder
    from regard.nn.encoders.shared import SharedEncoder
    from regard.nn.encoders.smoothed import SmoothedEncoder
    from regard.nn.encoders.story import StoryEncoder
    from regard.nn.encoders.table import TableEncoder
    from regard.nn.encoders.text import (
        ParentedEncoder,
        TextEncoder,
        build_encoder,
        build_word_embedding,
        encoder_letters,
        word_vector,
    )
    from regard.nn.encoders.tree import TreeEncoder
    from regard.nn.encoders.vectors import VectorsEncoder
    from regard.nn.encoders.video import VideoEncoder
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "BagEncoder",
    "CandidatesEncoder",
    "ConvolutionalEncoder",
    "Encoder",
    "GraphEncoder",
    "HierarchicalEncoder",
    "ImageEncoder",
    "MeanEncoder",
    "MlpEncoder",
    "ParentedEncoder",
    "PointsEncoder",
    "PretrainedAudioEncoder",
    "PretrainedEncoder",
    "PyramidalEncoder",
    "RecurrentEncoder",
    "SharedEncoder",
    "SmoothedEncoder",
    "StoryEncoder",
    "TableEncoder",
    "TextEncoder",
    "TreeEncoder",
    "VectorsEncoder",
    "VideoEncoder",
    "build_encoder",
    "build_word_embedding",
    "encoder_letters",
    "owner_of",
    "word_vector",
]
