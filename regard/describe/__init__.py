"""Any model as the six answers a lecturer would write on the board.

Data, encoder, decoder, parameters, loss, algorithm, each in the form that is computed. The lines come from the parts.
"""

from regard.describe.board import answers, board
from regard.describe.lettering import Lettered, Weight, has_letters, lettered

__all__ = ["Lettered", "Weight", "answers", "board", "has_letters", "lettered"]
