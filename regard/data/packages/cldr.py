"""Names of places and languages in two languages, from the Unicode CLDR as the Babel package has it."""

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
"""Names must be more alike than this."""


@register("package", "cldr")
class CldrPackage(Package):
    """English name → the same name in another locale: territories, languages, scripts, and the cities of time zones.

    The locale's name may be a translation (Germany, Deutschland). Kept are the pairs that pass all of:

    - both names are a single word of letters: descriptions, lists and additions in brackets are left out
    - the local name is not in the Latin script
    - both have at least two consonants, and the consonants are alike (`likeness.py`) by more than 0.75: equal for
      names of up to four, at most one different in five to eight
    - they end with the same consonant: this leaves out translated endings (Bulgarian, बुल्गारियाई)
    """

    dev: RowCount = 50
    """Number of names; splits share no English name."""
    test: RowCount = 100
    """Number of names."""
    locale: str = "hi"
    """Locale of the other names: hi, ru, el, ar, ka, th, …"""

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
    """The documented rule."""
    if not (_one_word(english) and _one_word(local)) or unicodedata.name(local[0], "").startswith("LATIN"):
        return False
    one, other = skeleton(english), skeleton(local)
    return min(len(one), len(other)) > 1 and one[-1] == other[-1] and likeness(english, local) > LIKE


def _one_word(name: str) -> bool:
    return all(
        unicodedata.category(character)[0] in "LM" or character in "\u200c\u200d" for character in name
    )


def pairs(locale: str) -> Iterator[tuple[str, str]]:
    """Every English name with that of the locale."""
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
    """A zone without an English city's name is named after its city: Asia/Ho_Chi_Minh."""
    for zone in sorted(local.time_zones):
        city = local.time_zones[zone].get("city")
        if city and not zone.startswith("Etc/"):
            named = english.time_zones.get(zone, {}).get("city")
            yield named or zone.split("/")[-1].replace("_", " "), city
