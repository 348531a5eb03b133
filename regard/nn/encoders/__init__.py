from regard.nn.encoders.bag import BagEncoder
from regard.nn.encoders.base import Encoder
from regard.nn.encoders.convolutional import ConvolutionalEncoder
from regard.nn.encoders.image import ImageEncoder
from regard.nn.encoders.mean import MeanEncoder
from regard.nn.encoders.parented import ParentedEncoder
from regard.nn.encoders.pyramid import PyramidEncoder
from regard.nn.encoders.recurrent import RecurrentEncoder
from regard.nn.encoders.story import StoryEncoder
from regard.nn.encoders.video import VideoEncoder

__all__ = [
    "BagEncoder",
    "ConvolutionalEncoder",
    "Encoder",
    "ImageEncoder",
    "MeanEncoder",
    "ParentedEncoder",
    "PyramidEncoder",
    "RecurrentEncoder",
    "StoryEncoder",
    "VideoEncoder",
]
