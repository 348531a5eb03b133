"""Cells: one step of a recurrence, one cell a file."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.cells.cell import AnyCell, Cell, make_cell
    from regard.nn.cells.deep import DeepCell
    from regard.nn.cells.gru import GRUCell
    from regard.nn.cells.jordan import JordanCell
    from regard.nn.cells.lstm import LSTMCell
    from regard.nn.cells.mrnn import MultiplicativeCell
    from regard.nn.cells.rnn import RNNCell
else:
    __getattr__ = at_first_use(__name__)

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
