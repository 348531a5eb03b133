"""Composers: the vector of a node of a tree from those of its children, one composer a file."""

from regard.nn.composers.childsum import ChildSumComposer
from regard.nn.composers.composer import AnyComposer, Composer, make_composer
from regard.nn.composers.lstm import LSTMComposer
from regard.nn.composers.rnn import RNNComposer
from regard.nn.composers.tensor import TensorComposer

__all__ = [
    "AnyComposer",
    "ChildSumComposer",
    "Composer",
    "LSTMComposer",
    "RNNComposer",
    "TensorComposer",
    "make_composer",
]
