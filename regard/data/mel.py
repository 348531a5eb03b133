"""Log-mel frames: the spectrum of audio over time, on the mel scale."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.errors import RegardError

FLOOR = 1e-6
"""Lower limit of the energy of a band, so that silence has a logarithm: 60 dB below a sample of 1."""


def mel(hertz: float) -> float:
    """2595 log₁₀(1 + f / 700) (O'Shaughnessy 1987): 1000 Hz is 1000 mel."""
    return 2595.0 * math.log10(1.0 + hertz / 700.0)


def hertz(mels: Tensor) -> Tensor:
    """The inverse of `mel`."""
    return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)


def filterbank(mels: int, bins: int, rate: int) -> Tensor:
    """(bins, mels): triangular filters with corners equally spaced in mel, from 0 to half the rate.

    Filter m rises from corner m to its peak of 1 at corner m + 1, and falls to corner m + 2. Bin k of `bins` is the
    frequency k · rate / 2 / (bins − 1).
    """
    corners = hertz(torch.linspace(0.0, mel(rate / 2), mels + 2, dtype=torch.float64))
    frequencies = torch.linspace(0.0, rate / 2, bins, dtype=torch.float64)[:, None]
    low, peak, high = corners[:-2], corners[1:-1], corners[2:]
    rising, falling = (frequencies - low) / (peak - low), (high - frequencies) / (high - peak)
    return torch.minimum(rising, falling).clamp(min=0.0).float()


class LogMel:
    """Samples (N) → frames (T, mels): log Σ_k F_km |FFT(w ⊙ x_t)_k|².

    Frame t covers `window` samples from t · hop on, under a Hann window. The last frame is padded with silence, and
    every recording has at least one frame. The FFT is long enough that each band contains a frequency bin.

    frame_seconds   time from one frame to the next
    """

    def __init__(self, rate: int, *, mels: int = 40, window_ms: float = 25.0, hop_ms: float = 10.0) -> None:
        self.rate, self.mels = rate, mels
        self.window, self.hop = round(rate * window_ms / 1000), round(rate * hop_ms / 1000)
        if self.window < 2 or self.hop < 1 or self.hop > self.window:
            raise RegardError(
                f"windows of {window_ms:g} ms every {hop_ms:g} ms do not cover audio of {rate} samples per second.",
                fix="Choose several milliseconds for window_ms, and no more than that for hop_ms.",
            )
        self.frame_seconds = self.hop / rate
        self.length = 1 << (self.window - 1).bit_length()
        self.filters = filterbank(mels, self.length // 2 + 1, rate)
        while not bool((self.filters > 0).any(0).all()):
            self.length *= 2
            self.filters = filterbank(mels, self.length // 2 + 1, rate)
        self.taper = torch.hann_window(self.window, periodic=True)

    def count(self, samples: int) -> int:
        """Number of frames of a recording of `samples` samples."""
        return 1 + -(-max(samples - self.window, 0) // self.hop)

    def __call__(self, samples: Tensor) -> Tensor:
        needed = (self.count(len(samples)) - 1) * self.hop + self.window
        padded = torch.nn.functional.pad(samples, (0, needed - len(samples)))
        frames = padded.unfold(0, self.window, self.hop) * self.taper  # (T, window)
        spectrum = torch.fft.rfft(frames, n=self.length)  # (T, bins)
        energy = (spectrum.real**2 + spectrum.imag**2) @ self.filters
        return torch.log(energy.clamp(min=FLOOR))
