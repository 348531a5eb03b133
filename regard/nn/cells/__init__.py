"""Cells: one step of a recurrence, one cell a file."""

from regard.nn.cells.cell import AnyCell, Cell, make_cell
from regard.nn.cells.deep import DeepCell
from regard.nn.cells.gru import GRUCell
from regard.nn.cells.jordan import JordanCell
from regard.nn.cells.lstm import LSTMCell
from regard.nn.cells.mrnn import MultiplicativeCell
from regard.nn.cells.rnn import RNNCell

__all__ = [
    "AnyCell",
    "Cell",
    "DeepCell",
    "GRUCell",
    "JordanCell",
    "LSTMCell",
    "MultiplicativeCell",
    "RNNCell",
    "make_cell",
]
