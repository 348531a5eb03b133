"""Samples from files, resampled and converted to log-mel frames."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
import soundfile
import torch

from regard.data.audio import decode, encode_wav, resample
from regard.data.contents import Unreadable
from regard.data.mel import LogMel, filterbank, hertz, mel
from regard.errors import RegardError


def sine(frequency: float, rate: int, seconds: float = 0.5) -> torch.Tensor:
    return torch.sin(
        2 * math.pi * frequency * torch.arange(int(rate * seconds), dtype=torch.float64) / rate
    ).float()


def file_of(samples, rate=8000, **options) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format=options.pop("format", "WAV"), **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("rate", "to"),
    [(44100, 16000), (8000, 16000), (16000, 8000), (22050, 8000), (11025, 44100), (48000, 44101)],
)
def test_a_resampled_sine_is_the_sine_at_the_other_rate(rate, to):
    found = resample(sine(440, rate), rate, to)
    expected = sine(440, to)
    assert len(found) == math.ceil(rate // 2 * to / rate)
    inside = slice(to // 20, -(to // 20))  # a sine is not band-limited at its abrupt ends
    torch.testing.assert_close(
        found[: len(expected)][inside], expected[: len(found)][inside], atol=2e-3, rtol=0
    )


def test_what_the_lower_rate_cannot_hold_is_gone():
    """6 kHz is above the Nyquist frequency of 8000 Hz, and must not be aliased to 2 kHz."""
    found = resample(sine(6000, 16000), 16000, 8000)
    assert float(found[400:-400].abs().max()) < 2e-3
    assert float(sine(6000, 16000)[::2].abs().max()) > 0.9, "taking every other sample would fold it"


def test_resampled_noise_is_scipy_s():
    from scipy import signal  # takes a second to import, for this test alone

    noise = torch.from_numpy(np.random.default_rng(0).standard_normal(4000)).float()
    low = torch.from_numpy(
        signal.sosfiltfilt(signal.butter(12, 0.25, output="sos"), noise.numpy()).copy()
    ).float()
    expected = signal.resample_poly(low.numpy().astype(np.float64), 2, 3, window=("kaiser", 12.0))
    found = resample(low, 12000, 8000)
    np.testing.assert_allclose(found.numpy()[100:-100], expected[100:-100], atol=3e-3)


def test_the_same_rate_changes_nothing():
    samples = sine(300, 8000)
    assert resample(samples, 8000, 8000) is samples


def test_mel_is_the_published_formula():
    assert mel(0) == 0
    assert math.isclose(mel(1000), 999.9856, abs_tol=1e-3)
    assert math.isclose(mel(700), 2595 * math.log10(2), rel_tol=1e-12)
    torch.testing.assert_close(hertz(torch.tensor([mel(440.0)])), torch.tensor([440.0]))


def test_filters_are_triangles_between_corners_in_mel():
    """Two filters up to 4000 Hz have their corners at 0, 1/3, 2/3 and 1 of mel(4000) = 2146.06."""
    bank = filterbank(2, 4001, 8000)  # one bin per hertz
    corners = [700 * (10 ** (2146.0645 * part / 3 / 2595) - 1) for part in range(4)]
    assert bank.shape == (4001, 2)
    for band in range(2):
        low, peak, high = corners[band : band + 3]
        assert int(bank[:, band].argmax()) == round(peak)
        middle = (low + peak) / 2
        assert math.isclose(float(bank[round(middle), band]), 0.5, abs_tol=2e-3)
        assert math.isclose(float(bank[round((peak + high) / 2), band]), 0.5, abs_tol=2e-3)
        outside = torch.cat([bank[: int(low), band], bank[math.ceil(high) + 1 :, band]])
        assert bool((outside == 0).all())


def test_frames_by_hand():
    """Each frame computed with numpy: a Hann window, |FFT|², the filters, the logarithm."""
    rate, frames = 8000, LogMel(8000, mels=8, window_ms=25, hop_ms=10)
    samples = torch.from_numpy(np.random.default_rng(1).standard_normal(1000)).float()
    found = frames(samples)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(200) / 200)
    bank = filterbank(8, 129, rate).numpy()
    padded = np.concatenate([samples.numpy(), np.zeros(200)])
    assert found.shape == (11, 8), "1 + (1000 − 200) / 80"
    for place in (0, 3, 10):
        piece = padded[place * 80 : place * 80 + 200] * window
        energy = np.abs(np.fft.rfft(piece, 256)) ** 2 @ bank
        np.testing.assert_allclose(found[place].numpy(), np.log(energy), rtol=1e-4, atol=1e-4)


def test_a_tone_is_loudest_in_its_band_and_silence_is_the_floor():
    frames = LogMel(8000, mels=20)
    peaks = hertz(torch.linspace(0, mel(4000), 22, dtype=torch.float64))[1:-1]
    for band in (3, 10, 17):
        assert set(frames(sine(float(peaks[band]), 8000)).argmax(1).tolist()) == {band}
    assert bool((frames(torch.zeros(800)) == math.log(1e-6)).all())


def test_every_sound_has_a_frame_and_every_band_a_frequency():
    frames = LogMel(16000, mels=128)
    assert frames(torch.ones(1)).shape == (1, 128) and frames(torch.ones(401)).shape == (2, 128)
    assert bool((frames.filters > 0).any(0).all())
    with pytest.raises(RegardError, match="do not cover audio of 8000"):
        LogMel(8000, window_ms=10, hop_ms=20)


def test_stereo_is_mixed_down_and_flac_is_read():
    left, right = sine(300, 8000).numpy(), sine(500, 8000).numpy()
    for kind in ("WAV", "FLAC"):
        samples, rate = decode(file_of(np.stack([left, right], 1) * 0.5, format=kind), "it")
        assert rate == 8000 and samples.dtype == np.float32
        np.testing.assert_allclose(samples, (left + right) / 4, atol=1e-4)


def test_wav_bytes_are_what_soundfile_reads():
    samples = sine(300, 11025).numpy() * 0.5
    read, rate = soundfile.read(io.BytesIO(encode_wav(samples, 11025)))
    assert rate == 11025
    np.testing.assert_allclose(read, samples, atol=1e-4)
    whole = np.array([[1, -1], [32767, -32768]], dtype=np.int16)
    read, _ = soundfile.read(io.BytesIO(encode_wav(whole, 8000)), dtype="int16")
    assert (read == whole).all()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"this is text, not sound", r"not audio that can be read \(Format not recognised\)"),
        (file_of(np.zeros(0, np.float32)), "contains no samples"),
        (file_of(np.array([0.0, np.nan, 0.1], np.float32), subtype="FLOAT"), "not all finite numbers"),
        (file_of(np.zeros(8000, np.float32))[:20], "not audio that can be read"),
        (file_of(np.zeros(8000 * 3, np.float32)), r"lasts 3.0 s, more than 2"),
    ],
    ids=["text", "no samples", "nan", "cut short", "too long"],
)
def test_what_cannot_be_read_says_why(content, reason):
    with pytest.raises(Unreadable, match="names 'a.wav', .*" + reason):
        decode(content, "names 'a.wav'", most_seconds=2)


def test_arrays_that_are_no_sound():
    with pytest.raises(Unreadable, match="not all finite"):
        encode_wav(np.array([np.inf]), 8000)
    with pytest.raises(Unreadable, match="array of int32"):
        encode_wav(np.array([1], np.int32), 8000)
