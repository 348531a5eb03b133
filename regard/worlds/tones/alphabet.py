"""The sounds of the letters, and the words of the lexicon."""

from __future__ import annotations

from typing import NamedTuple


class Sound(NamedTuple):
    """Two partials, each gliding between two frequencies (Hz), and a duration (seconds)."""

    low: tuple[float, float]
    high: tuple[float, float]
    seconds: float


ALPHABET: dict[str, Sound] = {
    # Vowels are steady, near the first two formants of a voice.
    "a": Sound((730, 730), (1090, 1090), 0.100),
    "e": Sound((530, 530), (1840, 1840), 0.095),
    "i": Sound((290, 290), (2290, 2290), 0.085),
    "o": Sound((560, 560), (860, 860), 0.105),
    "u": Sound((310, 310), (680, 680), 0.095),
    # Consonants glide.
    "b": Sound((200, 620), (800, 1250), 0.070),
    "d": Sound((240, 520), (2300, 1500), 0.065),
    "g": Sound((260, 480), (2900, 1300), 0.075),
    "k": Sound((900, 400), (2900, 2000), 0.060),
    "l": Sound((360, 420), (1000, 1900), 0.080),
    "m": Sound((240, 240), (1000, 700), 0.085),
    "n": Sound((250, 250), (1500, 1000), 0.080),
    "r": Sound((450, 300), (1200, 2000), 0.075),
    "s": Sound((1900, 1900), (3100, 3100), 0.090),
    "t": Sound((1300, 700), (2500, 3200), 0.060),
    "z": Sound((1500, 1900), (2400, 3000), 0.085),
}
"""Letters that differ in their frequencies for every speaker."""

LEXICON: tuple[str, ...] = (
    "red",
    "gold",
    "blue",
    "green",
    "sun",
    "moon",
    "rain",
    "sand",
    "lake",
    "tide",
    "stone",
    "iron",
    "salt",
    "milk",
    "oat",
    "seed",
    "root",
    "tree",
    "nest",
    "bee",
    "ant",
    "goat",
    "lion",
    "snake",
    "boat",
    "table",
    "zero",
    "one",
    "ten",
    "nine",
    "ask",
    "mute",
)
"""Words of the letters of `ALPHABET`."""
