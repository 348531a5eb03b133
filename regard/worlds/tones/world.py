"""The tones world: words spoken by synthetic voices, with a distinct sound for each letter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np
from pydantic import model_validator

from regard.data.audio import encode_wav
from regard.data.contents import data_uri
from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.tones.alphabet import LEXICON
from regard.worlds.tones.voice import RATE, Voice
from regard.worlds.world import SplitWorld


@register("world", "tones")
class TonesWorld(SplitWorld):
    """Utterances of some words in noise, each by another synthetic voice; the target is the text.

    The audio is WAV at 8 kHz, up to about two seconds; `places` gives the time span of each letter.
    """

    train: RowCount = 3000
    """Number of utterances."""
    dev: RowCount = 200
    """Rows of the split `dev`."""
    test: RowCount = 300
    """Rows of the split `test`."""
    lexicon: int = len(LEXICON)
    """Number of words of the lexicon that are used."""
    words: int = 4
    """Maximum number of words in an utterance."""
    noise: float = 0.6
    """Largest amplitude of the noise, as a share of the voice's own."""

    fields: ClassVar[tuple[str, ...]] = ("audio", "text", "places")

    @model_validator(mode="after")
    def _can_be_said(self) -> Self:
        if not 1 <= self.lexicon <= len(LEXICON):
            raise RegardError(f"lexicon is {self.lexicon}, expected 1 to {len(LEXICON)}.")
        if not 1 <= self.words <= 4:
            raise RegardError(f"words is {self.words}, expected 1 to 4.")
        if not self.noise >= 0:
            raise RegardError(f"noise is {self.noise}, expected 0 or more.")
        return self

    def splits(self) -> Splits:
        return self.splits_apart(self._rows)

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
