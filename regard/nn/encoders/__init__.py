from regard.nn.encoders.base import Encoder
from regard.nn.encoders.convolutional import ConvolutionalEncoder
from regard.nn.encoders.mean import MeanEncoder
from regard.nn.encoders.recurrent import RecurrentEncoder

__all__ = ["ConvolutionalEncoder", "Encoder", "MeanEncoder", "RecurrentEncoder"]
