"""Names of places and languages in two languages, from the Unicode CLDR in the package Babel."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, ClassVar

from regard.data.packages.likeness import likeness, skeleton
from regard.data.packages.package import Package
from regard.data.packages.parted import parted
from regard.data.provider import RowCount, Splits, numbered
from regard.errors import MissingExtra, RegardError
from regard.parts import register

LIKE = 0.75
"""Minimum similarity of two names, exclusive."""


@register("package", "cldr")
class CldrPackage(Package):
    """English name → the same name in another locale: territories, languages, scripts, and the cities of time zones.

    The name in the locale may be a translation (Germany, Deutschland). A pair is kept if:

    - both names are a single word of letters, without descriptions, lists or additions in brackets - the local name is
    not in the Latin script - both have at least two consonants, and their similarity (`likeness.py`) exceeds 0.75:
    names of up to four consonants
      must agree in all of them; of five to eight, one may differ
    - both end with the same consonant, which excludes translated endings (Bulgarian, बुल्गारियाई)
    """

    dev: RowCount = 50
    """Number of English names; no English name is in two splits."""
    test: RowCount = 100
    """Number of English names."""
    locale: str = "hi"
    """Locale of the local names: hi, ru, el, ar, ka, th, …"""

    fields: ClassVar[tuple[str, ...]] = ("name", "spelling")

    def splits(self) -> Splits:
        spellings: dict[str, list[str]] = {}
        for english, local in pairs(self.locale):
            if is_spelling(english, local) and local not in spellings.setdefault(english, []):
                spellings[english].append(local)
        names = [english for english, found in spellings.items() if found]
        where = f"{self.type} {self.locale}"
        parts = parted(names, seed=self.seed, train=self.train, dev=self.dev, test=self.test, name=where)
        return {
            part: numbered(
                f"{self.type}:{self.locale}",
                part,
                (
                    {"name": english, "spelling": local}
                    for english in chosen
                    for local in sorted(spellings[english])
                ),
            )
            for part, chosen in parts.items()
        }


def is_spelling(english: str, local: str) -> bool:
    """Whether a pair satisfies the conditions of `CldrPackage`."""
    if not (_one_word(english) and _one_word(local)) or unicodedata.name(local[0], "").startswith("LATIN"):
        return False
    one, other = skeleton(english), skeleton(local)
    return min(len(one), len(other)) > 1 and one[-1] == other[-1] and likeness(english, local) > LIKE


def _one_word(name: str) -> bool:
    return all(
        unicodedata.category(character)[0] in "LM" or character in "\u200c\u200d" for character in name
    )


def pairs(locale: str) -> Iterator[tuple[str, str]]:
    """Every English name with the corresponding local name."""
    try:
        from babel import Locale, UnknownLocaleError
    except ImportError:
        raise MissingExtra("Babel", "zoo", "The package cldr") from None
    try:
        english, local = Locale.parse("en"), Locale.parse(locale)
    except (UnknownLocaleError, ValueError) as error:
        raise RegardError(
            f"locale is {locale!r}: {error}.", where="cldr", fix="Use a code such as hi, ru or ar."
        ) from error
    for kind in ("territories", "languages", "scripts"):
        names, others = getattr(english, kind), getattr(local, kind)
        yield from ((names[code], others[code]) for code in sorted(set(names) & set(others)))
    yield from _cities(english, local)


def _cities(english: Any, local: Any) -> Iterator[tuple[str, str]]:
    """Cities of time zones. Without an English name, the city is taken from the zone: Asia/Ho_Chi_Minh."""
    for zone in sorted(local.time_zones):
        city = local.time_zones[zone].get("city")
        if city and not zone.startswith("Etc/"):
            named = english.time_zones.get(zone, {}).get("city")
            yield named or zone.split("/")[-1].replace("_", " "), city
