from regard.data.worlds.tones.alphabet import ALPHABET, LEXICON
from regard.data.worlds.tones.world import TonesWorld

__all__ = ["ALPHABET", "LEXICON", "TonesWorld"]
