from regard.nn.encoders.image.encoder import ImageEncoder
from regard.nn.encoders.image.lenet import LeNet
from regard.nn.encoders.image.named import NETWORKS, make_network
from regard.nn.encoders.image.network import Canvas, PictureNetwork
from regard.nn.encoders.image.position import GridPosition
from regard.nn.encoders.image.pretrained import Backbone
from regard.nn.encoders.image.residual import ResidualNetwork
from regard.nn.encoders.image.rows import Rows
from regard.nn.encoders.image.vgg import VGG, VGG16

__all__ = [
    "NETWORKS",
    "VGG",
    "VGG16",
    "Backbone",
    "Canvas",
    "GridPosition",
    "ImageEncoder",
    "LeNet",
    "PictureNetwork",
    "ResidualNetwork",
    "Rows",
    "make_network",
]
