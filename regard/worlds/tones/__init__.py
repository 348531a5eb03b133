from regard.worlds.tones.alphabet import ALPHABET, LEXICON
from regard.worlds.tones.world import TonesWorld

__all__ = ["ALPHABET", "LEXICON", "TonesWorld"]
