"""The audio column: from files and bytes to normalized frames."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from regard.data import AudioColumn, Dataset, Row
from regard.data.columns import SoundVariation, column_from_state
from regard.errors import RegardError

RATE = 8000


def tone(seconds: float = 0.5, frequency: float = 440.0, rate: int = RATE) -> np.ndarray:
    return (0.4 * np.sin(2 * np.pi * frequency * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def column(**options) -> AudioColumn:
    return AudioColumn("audio", **{"rate": RATE, "mels": 12, **options})


def test_a_path_its_bytes_and_its_samples_are_one_sound(tmp_path):
    path, made = tmp_path / "a.wav", column()
    soundfile.write(path, tone(), RATE, subtype="PCM_16")
    frames = made.encode(made.written(path))
    assert frames.shape == (49, 12) and frames.dtype == np.float32
    np.testing.assert_array_equal(made.encode(made.written(path.read_bytes())), frames)
    np.testing.assert_array_equal(
        made.encode(made.written((soundfile.read(path, dtype="int16")[0], RATE))), frames
    )
    flac = io.BytesIO()
    soundfile.write(flac, soundfile.read(path, dtype="int16")[0], RATE, format="FLAC")
    assert made.written(flac.getvalue()).startswith("data:audio/flac;base64,")
    np.testing.assert_allclose(made.encode(made.written(flac.getvalue())), frames, atol=1e-5)
    with pytest.raises(RegardError, match="an array of samples has no sampling rate"):
        made.written(tone())


def test_a_relative_path_is_found_beside_its_row(tmp_path, monkeypatch):
    (tmp_path / "sounds").mkdir()
    soundfile.write(tmp_path / "sounds" / "a.wav", tone(), RATE)
    made = column()
    found = made.located("sounds/a.wav", str(tmp_path / "rows.tsv"))
    assert Path(found) == tmp_path / "sounds" / "a.wav"
    monkeypatch.chdir(tmp_path / "sounds")
    assert (
        Path(made.located("a.wav", "/nowhere/rows.tsv")).resolve()
        == (tmp_path / "sounds" / "a.wav").resolve()
    )
    data = made.written((tone(), RATE))
    assert made.located(data, str(tmp_path / "rows.tsv")) == data


def test_another_rate_gives_about_the_same_frames():
    made = column(normalize="none")
    one = made.encode(made.written((tone(rate=RATE), RATE)))
    other = made.encode(made.written((tone(rate=22050), 22050)))
    assert one.shape == other.shape
    loud = one > one.max() - 6  # only where there is sound, to ignore differences in the last bit
    np.testing.assert_allclose(other[5:-5][loud[5:-5]], one[5:-5][loud[5:-5]], atol=0.05)


def test_normalisation_by_utterance_does_not_hear_loudness():
    made, sound = column(), tone() + 0.05 * np.random.default_rng(0).standard_normal(4000).astype(np.float32)
    frames = made.encode(made.written((sound, RATE)))
    np.testing.assert_allclose(frames.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(frames.std(0), 1, atol=1e-3)
    np.testing.assert_allclose(made.encode(made.written((sound * 0.5, RATE))), frames, atol=0.02)


def test_normalisation_is_learned_and_kept():
    made, plain = column(normalize="learned"), column(normalize="none")
    generator = np.random.default_rng(0)
    values = [
        made.written((generator.standard_normal(2000).astype(np.float32) * 0.1 * (k + 1), RATE))
        for k in range(3)
    ]
    made.learn([values[0], "missing.wav", *values[1:]])  # unreadable files are skipped
    all_frames = np.concatenate([plain.encode(value) for value in values])
    np.testing.assert_allclose(made.mean, all_frames.mean(0), rtol=1e-4)
    np.testing.assert_allclose(made.spread, all_frames.std(0), rtol=1e-3)
    again = column_from_state(made.state())
    assert isinstance(again, AudioColumn) and again.state() == made.state()
    np.testing.assert_array_equal(again.encode(values[1]), made.encode(values[1]))


def test_sounds_side_by_side_and_as_they_are_seen():
    made = column()
    rows = [made.encode(made.written((tone(seconds), RATE))) for seconds in (0.5, 0.2)]
    series = made.collate(rows)
    assert series.values.shape == (2, 49, 12) and series.lengths.tolist() == [49, 19]
    assert bool((series.values[1, 19:] == 0).all())
    seen = made.seen(series, 1)
    np.testing.assert_array_equal(seen.values, rows[1])
    assert seen.seconds == pytest.approx(0.19)
    assert made.cost(rows[0]) == 49


def test_variation_is_decided_by_the_generator_alone():
    made = column(augment={"time_masks": 2, "frequency_masks": 1, "speed": 0.2, "noise": 0.1})
    value = made.written((tone(), RATE))
    one, same, other = (made.varied(value, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert one.shape != other.shape or not np.array_equal(one, other)
    np.testing.assert_array_equal(made.encode(value), column().encode(value))
    np.testing.assert_array_equal(column().varied(value, np.random.default_rng(1)), column().encode(value))


def test_masks_are_stretches_no_wider_than_they_may_be():
    variation = SoundVariation(time_masks=1, time_width=0.2, frequency_masks=1, frequency_width=0.5)
    widest = [0, 0]
    for seed in range(200):
        masked = variation.masked(np.ones((50, 10), np.float32), np.random.default_rng(seed))
        for axis in (0, 1):
            gone = (masked == 0).all(axis=1 - axis)
            widest[axis] = max(widest[axis], int(gone.sum()))
            places = np.flatnonzero(gone)
            assert len(places) == 0 or places[-1] - places[0] + 1 == len(places), "one stretch"
    assert widest == [10, 5]


def test_speed_changes_the_length_and_noise_the_sound():
    samples = torch.from_numpy(tone())
    lengths = {
        len(SoundVariation(speed=0.1).sound(samples, np.random.default_rng(seed))) for seed in range(100)
    }
    assert min(lengths) == np.ceil(4000 * 40 / 44) and max(lengths) == np.ceil(4000 * 40 / 36)
    noisy = SoundVariation(noise=0.5).sound(samples, np.random.default_rng(0)) - samples
    assert 0 < float(noisy.square().mean().sqrt()) < 0.5 * float(samples.square().mean().sqrt())
    peaks = [
        float(SoundVariation(loudness=6.0).sound(samples, np.random.default_rng(seed)).abs().max())
        for seed in range(100)
    ]
    assert 0.2 < min(peaks) < 0.22 and 0.75 < max(peaks) < 0.8, "6 dB double or halve 0.4"


def test_bad_sounds_are_set_aside_by_name(tmp_path):
    soundfile.write(tmp_path / "good.wav", tone(), RATE)
    (tmp_path / "empty.wav").write_bytes(b"")
    (tmp_path / "text.wav").write_text("this is not a sound", encoding="utf-8")
    soundfile.write(tmp_path / "silent.wav", np.zeros(0, np.float32), RATE)
    soundfile.write(tmp_path / "nan.wav", np.array([0.0, np.nan], np.float32), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "long.wav", tone(3.0), RATE)
    names = ["good", "empty", "text", "silent", "nan", "long", "missing"]
    rows = [
        Row({"audio": f"{name}.wav"}, file=str(tmp_path / "rows.tsv"), line=line)
        for line, name in enumerate(names, start=1)
    ]
    made = column(max_seconds=2.0)
    dataset = Dataset.build(rows, [made], on_bad="skip")
    assert len(dataset) == 1 and dataset.rejected == 6
    reasons = {rejected.reason for rejected in dataset.rejections.kept}
    for name, words in [
        ("empty", "is empty (0 bytes)"),
        ("text", "not audio that can be read"),
        ("silent", "contains no samples"),
        ("nan", "not all finite numbers"),
        ("long", "lasts 3.0 s, more than 2"),
        ("missing", "no such file"),
    ]:
        assert any(f"{name}.wav" in reason and words in reason for reason in reasons), (name, reasons)
    with pytest.raises(RegardError, match=r"rows.tsv:2.*audio names .*empty.wav'"):
        Dataset.build(rows, [made], on_bad="stop")
