"""The tones world: the audio agrees with the text at the stated regions."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data import AudioColumn
from regard.errors import RegardError
from regard.worlds import world
from regard.worlds.tones import ALPHABET, LEXICON

SIZES = {"train": 30, "dev": 5, "test": 5}


def test_the_same_rows_every_time_and_others_for_another_seed():
    one, same, other = (world("tones", seed=seed, **SIZES).splits() for seed in (1, 1, 2))
    assert one == same and one["train"] != other["train"]
    assert [len(one[split]) for split in ("train", "dev", "test")] == [30, 5, 5]
    more = world("tones", seed=1, train=40, dev=5, test=5).splits()
    assert more["test"] == one["test"] and more["train"][:30] == one["train"]


def test_words_of_the_lexicon_in_short_sounds():
    column = AudioColumn("audio", rate=8000)
    counts = set()
    for row in world("tones", words=4, **SIZES).splits()["train"]:
        words = row["text"].split(" ")
        counts.add(len(words))
        assert set(words) <= set(LEXICON)
        assert 0.2 < len(column.samples(row["audio"])) / 8000 < 2.5
    assert counts == {1, 2, 3, 4}
    assert len(LEXICON) == len(set(LEXICON)) == 32 and set("".join(LEXICON)) == set(ALPHABET)


def test_each_letter_sounds_at_its_place_with_its_frequencies():
    """The strongest frequency of a vowel, by numpy's FFT, is its low partial times the speaker's pitch."""
    column = AudioColumn("audio", rate=8000)
    ratios = []
    for row in world("tones", noise=0.0, **SIZES).splits()["train"]:
        samples = column.samples(row["audio"]).numpy()
        found = []
        places = [place.partition(":") for place in row["places"].split()]
        assert [int(token) for token, _, _ in places] == [
            place for place, letter in enumerate(row["text"]) if letter != " "
        ]
        ends = 0.0
        for token, _, span in places:
            begin, end = (float(part) for part in span.split(","))
            assert ends - 1e-9 <= begin < end <= 1
            ends = end
            letter = row["text"][int(token)]
            if letter in "aei":
                piece = samples[int(begin * len(samples)) : int(end * len(samples))]
                spectrum = np.abs(np.fft.rfft(piece * np.hanning(len(piece)), 8192))
                found.append(spectrum.argmax() * 8000 / 8192 / ALPHABET[letter].low[0])
        ratios += found
        assert not found or max(found) - min(found) < 0.08, "one speaker, one pitch"
    assert 0.85 < min(ratios) < 0.97 and 1.03 < max(ratios) < 1.15


def test_mistakes_are_named():
    for options, words in (
        ({"lexicon": 0}, "lexicon is 0"),
        ({"words": 5}, "words is 5"),
        ({"noise": -1.0}, "noise is"),
    ):
        with pytest.raises(RegardError, match=words):
            world("tones", **options)
