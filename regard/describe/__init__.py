"""Describe a model: the six answers that a lecturer would write on the board, and a drawing.

The answers are data, encoder, decoder, parameters, loss and algorithm, as they are computed. The lines come from the
parts; the drawing (`draw`) is derived from the lines and the network.
"""

from typing import TYPE_CHECKING, Any

from regard.describe.board import board, described
from regard.describe.notations import Lettered, Notation, Weight, has_letters, lettered
from regard.describe.six_answers import answers

if TYPE_CHECKING:
    from regard.describe.drawing import draw

__all__ = [
    "Lettered",
    "Notation",
    "Weight",
    "answers",
    "board",
    "described",
    "draw",
    "has_letters",
    "lettered",
]


def __getattr__(name: str) -> Any:
    if name == "draw":
        from regard.describe.drawing import draw

        return draw
    raise AttributeError(f"module 'regard.describe' has no attribute {name!r}")
