"""Phonetic similarity of two spellings, across scripts, by the consonants in the Unicode names of their letters.

A name is reduced to a skeleton of consonant classes; vowels, h and y are dropped, and doubled letters count once:

    P  p b f v w     T  t d     K  k g q, hard c     S  s z j, soft c and g, ch     M  m     N  n     L  l     R  r

x counts as k and s. Latin letters are classified directly. Letters of other scripts are classified by the consonants
at the start of their Unicode name: DEVANAGARI LETTER BHA is P, CYRILLIC SMALL LETTER ZHE is S, ARABIC LETTER MEEM is
M. Ideographs have no class.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

CLASSES = {
    letter: sound
    for sound, letters in {
        "P": "pbfvw",
        "T": "td",
        "K": "kgqc",
        "S": "szj",
        "M": "m",
        "N": "n",
        "L": "l",
        "R": "r",
    }.items()
    for letter in letters
}
_SOFT = re.compile(r"[cg](?=[eiy])|ch")
_NAME = re.compile(
    r"(?:LETTER|CHARACTER|CHOSEONG|JONGSEONG) (?:(?:SHORT|LONG|SMALL|CANDRA|VOCALIC|FINAL|FARSI) )*([A-Z]+)"
)
_NASAL_SIGNS = ("ANUSVARA", "CANDRABINDU", "BINDI", "TIPPI")


def likeness(one: str, other: str) -> float:
    """1 − edit distance ÷ length of the longer skeleton; 0 if either skeleton is empty."""
    first, second = skeleton(one), skeleton(other)
    if not first or not second:
        return 0.0
    return 1.0 - Levenshtein.distance(first, second) / max(len(first), len(second))


def skeleton(text: str) -> str:
    """Germany → SRMN, जर्मनी → SRMN"""
    letters = unicodedata.normalize("NFD", text.lower())
    latin = "".join(letter for letter in letters if letter.isascii())
    if len(latin) * 2 > len(letters):
        return latin_skeleton(latin)
    sounds, before = "", ""
    for letter in letters:
        if "VIRAMA" in unicodedata.name(letter, ""):
            continue
        sound = letter_sounds(letter)
        sounds += sound if sound != before else ""
        before = sound
    return sounds


def latin_skeleton(letters: str) -> str:
    letters = _SOFT.sub("s", letters).replace("x", "ks")
    sounds, before = "", ""
    for letter in letters:
        sound = CLASSES.get(letter, "")
        sounds += sound if sound != before else ""
        before = sound
    return sounds


@lru_cache(maxsize=4096)
def letter_sounds(letter: str) -> str:
    """The classes of the consonants at the start of a letter's name, or of the last one in Cyrillic names such as
    EM."""
    name = unicodedata.name(letter, "")
    if any(sign in name for sign in _NASAL_SIGNS):
        return "N"
    found = _NAME.search(name)
    if found is None or "SIGN" in name:
        return ""
    spelled = found[1].lower()
    if name.startswith("CYRILLIC") and re.fullmatch("e[mnlrsf]", spelled):
        return CLASSES[spelled[1]]
    if name.startswith("THAI") and spelled == "sara":
        return ""
    # The letter named CA is pronounced "ch" in every script that has it.
    sounds = latin_skeleton(re.split("[aeiou]", spelled)[0].replace("c", "s"))
    # "TSE", "NGA", "JNYA" stand for one sound; "KSA", "XI" and "PSI" for two.
    return sounds if spelled.startswith(("ks", "x", "ps")) else {"TS": "S"}.get(sounds, sounds[:1])
