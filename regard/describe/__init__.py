"""Any model as the six answers a lecturer would write on the board.

Data, encoder, decoder, parameters, loss, algorithm, each in the form that is computed.
A new kind of column, encoder or decoder registers its own lines.
"""

from regard.describe import (  # noqa: F401  they register themselves
    align,
    encoders,
    facts,
    films,
    images,
    label,
    parents,
    recurrent,
    sounds,
    tags,
    tree,
)
from regard.describe.board import answers, board

__all__ = ["answers", "board"]
