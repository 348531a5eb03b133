"""The image encoder and its networks, one network per file."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.encoders.image.encoder import ImageEncoder
    from regard.nn.encoders.image.lenet import LeNet
    from regard.nn.encoders.image.network import AnyNetwork, Canvas, ImageNetwork, make_network
    from regard.nn.encoders.image.position import GridPosition
    from regard.nn.encoders.image.resnet import ResidualNetwork
    from regard.nn.encoders.image.rows import RowReader
    from regard.nn.encoders.image.timm import Backbone
    from regard.nn.encoders.image.vgg import VGG
    from regard.nn.encoders.image.vgg16 import VGG13, VGG16
else:
    __getattr__ = at_first_use(__name__)
    # Whoever looks for encoders imports this package alone.
    from regard.nn.encoders.image.encoder import ImageEncoder

__all__ = [
    "VGG",
    "VGG13",
    "VGG16",
    "AnyNetwork",
    "Backbone",
    "Canvas",
    "GridPosition",
    "ImageEncoder",
    "ImageNetwork",
    "LeNet",
    "ResidualNetwork",
    "RowReader",
    "make_network",
]
