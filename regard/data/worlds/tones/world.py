"""The tones world: words spoken by made-up voices, each letter a sound of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regard.data.contents import data_uri
from regard.data.sound import encode_wav
from regard.data.worlds.tones.alphabet import LEXICON
from regard.data.worlds.tones.voice import RATE, Voice
from regard.data.worlds.world import Splits, numbered
from regard.errors import RegardError


@dataclass(frozen=True)
class TonesWorld:
    """Utterances of some words, said by another voice each time, through noise: what was said is to be written.

    The sounds are WAV files of 8 kHz and at most some two seconds; `places` says when each letter sounds.

    seed          determines everything
    train … test  numbers of rows
    lexicon       how many of the words are used
    words         most words in an utterance
    noise         the loudest noise, as a share of the voice's own loudness
    """

    seed: int = 1
    train: int = 3000
    dev: int = 200
    test: int = 300
    lexicon: int = len(LEXICON)
    words: int = 4
    noise: float = 0.6

    name: ClassVar[str] = "tones"
    fields: ClassVar[tuple[str, ...]] = ("audio", "text", "places")

    def __post_init__(self) -> None:
        if not 1 <= self.lexicon <= len(LEXICON):
            raise RegardError(f"lexicon is {self.lexicon}, expected 1 to {len(LEXICON)}.", where=self.name)
        if not 1 <= self.words <= 4:
            raise RegardError(f"words is {self.words}, expected 1 to 4.", where=self.name)
        if not self.noise >= 0:
            raise RegardError(f"noise is {self.noise}, expected 0 or more.", where=self.name)

    def splits(self) -> Splits:
        # Each split has a generator of its own: its rows stay the same whatever the sizes of the others.
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        return {
            split: numbered(self.name, split, self._rows(np.random.default_rng([self.seed, place]), size))
            for place, (split, size) in enumerate(sizes.items())
        }

    def _rows(self, generator: np.random.Generator, size: int) -> Iterator[dict[str, str]]:
        for _ in range(size):
            count = int(generator.integers(1, self.words + 1))
            text = " ".join(LEXICON[word] for word in generator.integers(0, self.lexicon, count))
            voice = Voice.drawn(generator, (0.0, self.noise))
            samples, places = voice.say(text, generator)
            yield {
                "audio": data_uri(encode_wav(samples, RATE), "audio/wav"),
                "text": text,
                "places": " ".join(f"{place}:{begin:.4f},{end:.4f}" for place, begin, end in places),
            }
