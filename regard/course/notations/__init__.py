"""The notations of the five lectures: `regard describe NAME --as 004`, with shape and location of each weight."""

from regard.course.notations.deck import DeckNotation
from regard.course.notations.letters import Letters

__all__ = ["DeckNotation", "Letters"]
