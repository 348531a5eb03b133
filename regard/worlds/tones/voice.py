"""Synthetic voices: from letters to samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.data.ragged import Array
from regard.worlds.tones.alphabet import ALPHABET, Sound

RATE = 8000
FADE_SECONDS = 0.010
"""Duration of the fade-in and fade-out of a letter."""
PAUSE_SECONDS = 0.070
"""Duration of the pause between words."""
LOUDNESS = 0.25


@dataclass(frozen=True)
class Voice:
    """A speaker and the background noise.

    pitch    factor of all frequencies
    tempo    factor of all durations
    buzz     frequency (Hz) of the amplitude modulation
    noise    amplitude of white noise, as a share of the voice's own
    """

    pitch: float
    tempo: float
    buzz: float
    noise: float

    @classmethod
    def drawn(cls, generator: np.random.Generator, noise: tuple[float, float]) -> Voice:
        return cls(
            pitch=float(generator.uniform(0.9, 1.1)),
            tempo=float(generator.uniform(0.85, 1.15)),
            buzz=float(generator.uniform(70.0, 160.0)),
            noise=float(generator.uniform(*noise)),
        )

    def say(self, text: str, generator: np.random.Generator) -> tuple[Array, list[tuple[int, float, float]]]:
        """(N,) float32 samples, and for each letter (position in the text, begin, end), as fractions of the duration.

        The duration of every letter varies independently. There is silence before, after and between the words.
        """
        sounds = [ALPHABET.get(letter) for letter in text]
        plain = np.array([PAUSE_SECONDS if sound is None else sound.seconds for sound in sounds])
        drawn = plain * self.tempo * generator.uniform(0.85, 1.2, len(plain))
        edges = generator.uniform(0.02, 0.12, 2)
        lengths = np.round(np.concatenate([edges[:1], drawn, edges[1:]]) * RATE).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        samples = self._sung([None, *sounds, None], lengths)
        samples += (
            self.noise * LOUDNESS * np.sqrt(0.5) * generator.standard_normal(len(samples), dtype=np.float32)
        )
        places = [
            (place, float(starts[place + 1] / starts[-1]), float(starts[place + 2] / starts[-1]))
            for place, sound in enumerate(sounds)
            if sound is not None
        ]
        return samples, places

    def _sung(self, sounds: list[Sound | None], lengths: Array) -> Array:
        """The samples of all letters at once, from the frequencies of each sample's letter and the time within it."""
        letter = np.repeat(np.arange(len(lengths)), lengths)  # (N,)
        start = np.cumsum(lengths) - lengths
        time = ((np.arange(len(letter)) - start[letter]) / RATE).astype(np.float32)
        seconds = (lengths / RATE).astype(np.float32)
        silent = ((0.0, 0.0), (0.0, 0.0))
        glides = np.array([(sound.low, sound.high) if sound else silent for sound in sounds], np.float32)
        glides *= self.pitch  # (letters, 2, 2)
        rise = (glides[..., 1] - glides[..., 0]) / seconds[:, None] / 2  # (letters, 2)
        voice = np.zeros(len(letter), np.float32)
        for partial, weight in ((0, 1.0), (1, 0.7)):
            turns = (glides[:, partial, 0][letter] + rise[:, partial][letter] * time) * time
            voice += weight * np.sin(2 * np.pi * turns)
        edge = np.minimum(time, seconds[letter] - time) / FADE_SECONDS
        swell = 1.0 + 0.3 * np.sin(2 * np.pi * self.buzz * np.arange(len(letter), dtype=np.float32) / RATE)
        sung: Array = (LOUDNESS * voice * np.minimum(edge, 1.0) * swell).astype(np.float32)
        return sung
