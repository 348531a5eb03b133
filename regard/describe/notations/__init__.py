"""Notations: other ways to write the board of a model, one part each, such as that of a lecture or a book."""

from regard.describe.notations.notation import Lettered, Notation, Weight, has_letters, lettered

__all__ = ["Lettered", "Notation", "Weight", "has_letters", "lettered"]
