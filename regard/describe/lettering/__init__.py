"""A model in the notation of a lecture: `regard describe NAME --as 004`, with shape and location of each weight.

The lines are those of our own board, with each symbol renamed as in the lecture. Lectures write one bias where a cell
has two, W for the matrix of the state and U for that of the input, and enc, dec, attn for the module.
"""

from regard.describe.lettering.lettered import Lettered, has_letters, lettered
from regard.describe.lettering.letters import LECTURES, Letters
from regard.describe.lettering.weights import Weight

__all__ = ["LECTURES", "Lettered", "Letters", "Weight", "has_letters", "lettered"]
