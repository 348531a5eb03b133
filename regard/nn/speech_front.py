"""From samples of audio to the inputs of pretrained speech encoders, and the number of their positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.errors import RegardError

RATE, HOP = 16_000, 160
LEAST_SPREAD = 1e-7


class WaveFront:
    """wav2vec2, HuBERT, WavLM: the samples of a recording with mean 0 and variance 1, read by convolutions."""

    def __init__(self, config: Any) -> None:
        self.kernels, self.strides = tuple(config.conv_kernel), tuple(config.conv_stride)
        self.step = 1
        for stride in self.strides:
            self.step *= stride

    def positions(self, samples: int) -> int:
        """Number of positions of a recording."""
        for kernel, stride in zip(self.kernels, self.strides, strict=True):
            samples = (samples - kernel) // stride + 1
        return max(samples, 1)

    def inputs(self, samples: Tensor) -> dict[str, Tensor]:
        """(N) samples of one recording → the inputs of the encoder."""
        reach, step = 1, 1
        for kernel, stride in zip(self.kernels, self.strides, strict=True):
            reach, step = reach + (kernel - 1) * step, step * stride
        normal = (samples - samples.mean()) / (samples.var(correction=0) + LEAST_SPREAD).sqrt()
        return {
            "input_values": torch.nn.functional.pad(normal, (0, max(reach - len(samples), 0))).unsqueeze(0)
        }


class MelFront:
    """Whisper: log-mel frames of 25 ms every 10 ms, padded with silence to the longest recording it can read."""

    step = 2 * HOP

    def __init__(self, config: Any) -> None:
        from transformers import WhisperFeatureExtractor

        self.frames = 2 * int(config.max_source_positions)
        seconds = -(-self.frames * HOP // RATE)
        self.extractor = WhisperFeatureExtractor(feature_size=config.num_mel_bins, chunk_length=seconds)

    def positions(self, samples: int) -> int:
        """Number of positions of a recording."""
        return min(max(-(-samples // self.step), 1), self.frames // 2)

    def inputs(self, samples: Tensor) -> dict[str, Tensor]:
        """(N) samples of one recording → the inputs of the encoder."""
        if len(samples) > self.frames * HOP:
            raise RegardError(
                f"the recording has {len(samples) / RATE:.1f} seconds, and the encoder reads at most "
                f"{self.frames * HOP / RATE:.0f}.",
                fix="Set  max_seconds  of the input, or cut the recording.",
            )
        made = self.extractor(samples.cpu().float().numpy(), sampling_rate=RATE, return_tensors="pt")
        return {"input_features": made["input_features"][:, :, : self.frames].to(samples.device)}


def front_of(config: Any, known: Mapping[str, Any]) -> WaveFront | MelFront:
    """The front end of an encoder, by what its configuration says."""
    if "num_mel_bins" in known and hasattr(config, "max_source_positions"):
        return MelFront(config)
    if hasattr(config, "conv_kernel") and hasattr(config, "conv_stride"):
        return WaveFront(config)
    raise RegardError(
        f"{config.model_type} is no encoder of audio.",
        fix="Name a model like Whisper, wav2vec2, HuBERT or WavLM.",
    )
