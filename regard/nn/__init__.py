from regard.nn.attention import Attention, Look
from regard.nn.cells import GRUCell, LSTMCell, RNNCell
from regard.nn.decoders import (
    AlignDecoder,
    ChainTagsDecoder,
    FactsDecoder,
    LabelDecoder,
    Objective,
    RecurrentDecoder,
    TagsDecoder,
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
    PyramidEncoder,
    RecurrentEncoder,
    StoryEncoder,
    VideoEncoder,
)
from regard.nn.guide import guide_loss
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.parents import Parents
from regard.nn.selections import Selection
from regard.nn.spelling import ConvolutionalSpelling, RecurrentSpelling, SpelledEmbedding

__all__ = [
    "AlignDecoder",
    "Attention",
    "BagEncoder",
    "ChainTagsDecoder",
    "ConvolutionalEncoder",
    "ConvolutionalSpelling",
    "Embedding",
    "Encoder",
    "FactsDecoder",
    "GRUCell",
    "ImageEncoder",
    "LSTMCell",
    "LabelDecoder",
    "Look",
    "Loss",
    "MeanEncoder",
    "Memory",
    "Objective",
    "ParentedEncoder",
    "Parents",
    "PyramidEncoder",
    "RNNCell",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentSpelling",
    "Selection",
    "SpelledEmbedding",
    "StoryEncoder",
    "TagsDecoder",
    "TreeDecoder",
    "VideoEncoder",
    "guide_loss",
]
