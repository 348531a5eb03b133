"""Composers: the vector of a tree's node from the vectors of its children, one composer per file."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.composers.childsum import ChildSumComposer
    from regard.nn.composers.composer import AnyComposer, Composer, make_composer
    from regard.nn.composers.lstm import LSTMComposer
    from regard.nn.composers.rnn import RNNComposer
    from regard.nn.composers.tensor import TensorComposer
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "AnyComposer",
    "ChildSumComposer",
    "Composer",
    "LSTMComposer",
    "RNNComposer",
    "TensorComposer",
    "make_composer",
]
