from regard.nn.attention import Attention, Look
from regard.nn.cells import GRUCell, LSTMCell, RNNCell
from regard.nn.decoders import LabelDecoder, Objective, RecurrentDecoder, TagsDecoder
from regard.nn.embedding import Embedding
from regard.nn.encoders import ConvolutionalEncoder, Encoder, MeanEncoder, RecurrentEncoder
from regard.nn.guide import guide_loss
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.selections import Selection

__all__ = [
    "Attention",
    "ConvolutionalEncoder",
    "Embedding",
    "Encoder",
    "GRUCell",
    "LSTMCell",
    "LabelDecoder",
    "Look",
    "Loss",
    "MeanEncoder",
    "Memory",
    "Objective",
    "RNNCell",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "Selection",
    "TagsDecoder",
    "guide_loss",
]
