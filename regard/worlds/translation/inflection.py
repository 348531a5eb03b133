"""Endings of the target language."""

from __future__ import annotations

from regard.worlds.translation.lexicon import Gender, Noun

_PERFECTIVE = {"ja": ("gaya", "gayi", "gaye"), "kar": ("kiya", "ki", "kiye"), "le": ("liya", "li", "liye")}
_SHORT_FUTURE = {"le": "l"}


def decline(noun: Noun, *, plural: bool, oblique: bool) -> str:
    """The noun in the direct case, or in the oblique case, which precedes postpositions.

    larka, larke | larke, larkon; makan, makan | makan, makanon; larki, larkiyan | larki, larkiyon;
    kitab, kitaben | kitab, kitabon; raja and the men in -i change only in the oblique plural.
    """
    stem = noun.target
    if oblique and plural:
        return (
            stem[:-1] + "on"
            if stem.endswith("a") and changes(noun)
            else stem + ("yon" if stem.endswith("i") else "on")
        )
    if noun.gender == "f":
        return stem + ("yan" if stem.endswith("i") else "en") if plural else stem
    return stem[:-1] + "e" if changes(noun) and (plural or oblique) else stem


def changes(noun: Noun) -> bool:
    """Whether its -a is an ending, as in larka, and not part of the stem, as in raja and chhatra."""
    return noun.gender == "m" and noun.target.endswith("a") and noun.target not in ("raja", "chhatra")


def agree(word: str, *, gender: Gender, plural: bool, oblique: bool) -> str:
    """An adjective or possessive in agreement with its noun: bada, badi, bade; a word without -a does not change."""
    if not word.endswith("a"):
        return word
    return word[:-1] + ("i" if gender == "f" else "e" if plural or oblique else "a")


def ending(gender: Gender, plural: bool) -> str:
    """The ending -a, -i or -e of a verb."""
    return "i" if gender == "f" else "e" if plural else "a"


def present(person: int, plural: bool) -> str:
    """Present of to be: hoon, hai, hain."""
    return "hain" if plural else "hoon" if person == 1 else "hai"


def past(gender: Gender, plural: bool) -> str:
    """Past of to be: tha, thi, the, thin."""
    return "th" + (("in" if plural else "i") if gender == "f" else "e" if plural else "a")


def habitual(stem: str, gender: Gender, plural: bool) -> str:
    """dekhta, jata, leta."""
    return stem + "t" + ending(gender, plural)


def perfective(stem: str, gender: Gender, plural: bool) -> str:
    """dekha, gaya, khaya, liya."""
    place = "aie".index(ending(gender, plural))
    if stem in _PERFECTIVE:
        return _PERFECTIVE[stem][place]
    return stem + ("y" if stem[-1] in "aeiou" else "") + "aie"[place]


def future(stem: str, person: int, gender: Gender, plural: bool) -> str:
    """dekhunga, dekhega, dekhegi, dekhenge, dekhengi."""
    stem = _SHORT_FUTURE.get(stem, stem)
    if person == 1 and not plural:
        return stem + "ung" + ending(gender, plural)
    return stem + ("en" if plural else "e") + "g" + ending(gender, plural)


def infinitive(stem: str) -> str:
    """dekhna, jana."""
    return stem + "na"
