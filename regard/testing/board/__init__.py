"""Evaluates the equations of a board with the weights of a network, independently of the network's code."""

from regard.notation.tokens import NotationError
from regard.testing.board.evaluating import Board
from regard.testing.board.values import Family

__all__ = ["Board", "Family", "NotationError"]
