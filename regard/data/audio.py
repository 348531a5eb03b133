"""Audio: decode the bytes of a file to samples, and resample them."""

from __future__ import annotations

import io
import math
import wave
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.contents import Unreadable
from regard.data.ragged import Array
from regard.errors import RegardError

CROSSINGS = 16
"""Zero crossings of the sinc kept on each side of the resampling filter."""
ROLL_OFF = 0.95
"""Share of the lower rate's band to keep: a finite filter needs room to fall off."""
FINEST = 1000
"""Largest denominator of the fraction that approximates a ratio of rates; the error is below a millionth."""


def soundfile() -> Any:
    """The library, imported when audio is first read."""
    try:
        import soundfile as library
    except (ImportError, OSError):  # the package or its C library is missing
        raise RegardError(
            "reading audio needs soundfile, which cannot be loaded.", fix="Run: pip install soundfile"
        ) from None
    return library


def decode(content: bytes, shown: str, *, most_seconds: float = math.inf) -> tuple[Array, int]:
    """(N,) float32 samples, mixed down to one channel, and their rate. Raises `Unreadable` if there are none.

    shown          how error messages refer to the value: "names 'a.wav'"
    most_seconds   longer audio is refused before it is decoded
    """
    library = soundfile()
    try:
        with library.SoundFile(io.BytesIO(content)) as file:
            seconds = file.frames / file.samplerate
            if seconds > most_seconds:
                raise Unreadable(f"{shown}, which lasts {seconds:.1f} s, more than {most_seconds:g}")
            channels, rate = file.read(dtype="float32", always_2d=True), int(file.samplerate)  # (N, channels)
    except library.SoundFileError as error:
        reason = getattr(error, "error_string", str(error)).rstrip(".")
        raise Unreadable(f"{shown}, which is not audio that can be read ({reason})") from None
    if not len(channels):
        raise Unreadable(f"{shown}, which contains no samples")
    samples: Array = channels[:, 0] if channels.shape[1] == 1 else channels.mean(axis=1)
    if not np.isfinite(samples).all():
        raise Unreadable(f"{shown}, whose samples are not all finite numbers")
    return samples, rate


def encode_wav(samples: Array, rate: int) -> bytes:
    """A 16-bit WAV file of samples (N,) or (N, channels): floats from −1 to 1, or int16."""
    whole = samples
    if np.issubdtype(samples.dtype, np.floating):
        if not np.isfinite(samples).all():
            raise Unreadable("is an array of samples that are not all finite numbers")
        whole = np.clip(np.rint(samples * 32767.0), -32768, 32767)
    elif samples.dtype != np.int16:
        raise Unreadable(f"is an array of {samples.dtype}, expected floats from −1 to 1, or int16")
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1 if whole.ndim == 1 else whole.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(whole.astype("<i2").tobytes())
    return stream.getvalue()


def resample(samples: Tensor, rate: int, to: int) -> Tensor:
    """(N) at `rate` → (⌈N · to / rate⌉) at `to`, band-limited.

        y_n = Σ_k x_k h(n · rate / to − k),   h(t) = c sinc(c t) cos²(π c t / 2 Z) within |c t| < Z

    c is min(1, to / rate), times ROLL_OFF so that the filter falls off within the band. Z is the number of zero
    crossings kept on each side. With to / rate = U / D in lowest terms, there are only U distinct sets of weights. The
    result is a single product of these with windows of the samples, D apart.
    """
    if rate == to:
        return samples
    ratio = Fraction(to, rate).limit_denominator(FINEST)
    up, down = ratio.numerator, ratio.denominator
    kernel = sinc_kernel(up, down)  # (taps, U)
    half = (len(kernel) - down - 1) // 2
    wanted = -(-len(samples) * up // down)
    padded = torch.nn.functional.pad(samples, (half, half + down + 1))
    around = padded.unfold(0, len(kernel), down)  # (⌈N / D⌉, taps)
    return (around @ kernel).reshape(-1)[:wanted]


@lru_cache(maxsize=32)
def sinc_kernel(up: int, down: int) -> Tensor:
    """(taps, U): column p holds the weights of the samples −half … half + D for output p of each group of U."""
    scale = ROLL_OFF * min(1.0, up / down)
    half = math.ceil(CROSSINGS / scale)
    places = torch.arange(-half, half + down + 1, dtype=torch.float64)[:, None]
    outputs = torch.arange(up, dtype=torch.float64) * down / up
    times = (places - outputs) * scale  # (taps, U), in zero crossings
    window = torch.cos(times.clamp(-CROSSINGS, CROSSINGS) * math.pi / (2 * CROSSINGS)) ** 2
    return (scale * torch.sinc(times) * window).float()
