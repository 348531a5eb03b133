"""English sentences and their translations into a language with other word order."""

from regard.data.worlds.translation.transfer import translate
from regard.data.worlds.translation.world import TranslationWorld

__all__ = ["TranslationWorld", "translate"]
