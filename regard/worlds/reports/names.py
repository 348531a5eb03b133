"""Names of people and towns made of syllables, numerous enough for names that training lacks."""

from __future__ import annotations

from functools import cache
from random import Random

ONSETS = (
    "b",
    "d",
    "f",
    "g",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "z",
    "br",
    "dr",
    "kr",
    "st",
)
VOWELS = ("a", "e", "i", "o", "u", "ai")
CODAS = ("", "l", "m", "n", "r", "s", "ck", "rd")


@cache
def all_names() -> tuple[str, ...]:
    """Every name of two syllables, in a fixed order: "Bebal", "Drowick"."""
    return tuple(
        (first + one + second + two + coda).capitalize()
        for first in ONSETS
        for one in VOWELS
        for second in ONSETS
        for two in VOWELS
        for coda in CODAS
    )


def parted(seed: int, held: int) -> tuple[list[str], list[str]]:
    """The names for training, and `held` others that training lacks."""
    names = list(all_names())
    Random(seed).shuffle(names)
    return names[held:], names[:held]
