"""English sentences and their translations into a language with a different word order."""

from regard.worlds.translation.transfer import translate
from regard.worlds.translation.world import TranslationWorld

__all__ = ["TranslationWorld", "translate"]
