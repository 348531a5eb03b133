"""Plain torch modules: cells, scores, selections, attention, encoders, decoders, search."""

from regard.nn.attention import Attention, Look
from regard.nn.cells import Cell, GRUCell, LSTMCell, RNNCell
from regard.nn.decoders import (
    CRFDecoder,
    Decoder,
    DecomposableDecoder,
    LabelDecoder,
    MemoryNetworkDecoder,
    RecurrentDecoder,
    StepwiseDecoder,
    TagsDecoder,
    TextObjective,
    TreeDecoder,
)
from regard.nn.embedding import Embedding
from regard.nn.encoders import (
    BagEncoder,
    ConvolutionalEncoder,
    Encoder,
    ImageEncoder,
    MeanEncoder,
    ParentedEncoder,
    PyramidalEncoder,
    RecurrentEncoder,
    StoryEncoder,
    VideoEncoder,
)
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.parents import Parents
from regard.nn.scores import AttentionScore
from regard.nn.selections import Given, Selection
from regard.nn.spelling import ConvolutionalSpelling, RecurrentSpelling, SpelledEmbedding

__all__ = [
    "Attention",
    "AttentionScore",
    "BagEncoder",
    "CRFDecoder",
    "Cell",
    "ConvolutionalEncoder",
    "ConvolutionalSpelling",
    "Decoder",
    "DecomposableDecoder",
    "Embedding",
    "Encoder",
    "GRUCell",
    "Given",
    "ImageEncoder",
    "LSTMCell",
    "LabelDecoder",
    "Look",
    "Loss",
    "MeanEncoder",
    "Memory",
    "MemoryNetworkDecoder",
    "ParentedEncoder",
    "Parents",
    "PyramidalEncoder",
    "RNNCell",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentSpelling",
    "Selection",
    "SpelledEmbedding",
    "StepwiseDecoder",
    "StoryEncoder",
    "TagsDecoder",
    "TextObjective",
    "TreeDecoder",
    "VideoEncoder",
]
