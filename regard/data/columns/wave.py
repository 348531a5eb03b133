"""Audio that a pretrained encoder reads as samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.columns.audio import AudioColumn
from regard.data.media import Series
from regard.data.ragged import Array, Ragged
from regard.parts import register
from regard.storage.pretrained import model_folder, read_config
from regard.trace import SeenSeries

RATE = 16_000
"""The sampling rate of Whisper, wav2vec2 and their relatives."""


@register("column", "wave-audio")
class WaveAudioColumn(AudioColumn):
    """An audio column whose batches contain samples (B, N, 1) at 16 kHz, for the pretrained encoder `model`.

    The configuration of the encoder is part of what the column learns, so that a saved model needs no other files.
    """

    type = "wave-audio"
    roles: ClassVar[tuple[str, ...]] = ()  # made from an audio column if a pretrained encoder reads it

    def __init__(self, name: str, *, model: str = "", **options: Any) -> None:
        super().__init__(name, **{**options, "rate": RATE})
        self.model = model
        self._config: dict[str, Any] = {}

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the encoder."""
        if not self._config:
            self._config = read_config(model_folder(self.model))
        return self._config

    @property
    def width(self) -> int:
        return 1

    def encode(self, value: str) -> Array:
        samples: Array = self.samples(value).numpy()
        return samples

    def varied(self, value: str, generator: np.random.Generator) -> Array:
        samples = self.samples(value)
        return (samples if self.augment is None else self.augment.sound(samples, generator)).numpy()

    def cost(self, encoded: Array) -> int:
        """Number of frames, as for log-mel frames."""
        return -(-len(encoded) // self.frames.hop)

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Series:
        """values (B, N, 1), lengths (B,)"""
        rows = [np.asarray(encoded[row], np.float32).reshape(-1) for row in range(len(encoded))]
        lengths = torch.tensor([len(row) for row in rows])
        values = torch.zeros(len(rows), int(lengths.max()), 1)
        for place, row in enumerate(rows):
            values[place, : len(row), 0] = torch.from_numpy(row)
        return Series(values, lengths)

    def seen(self, collated: Series, row: int) -> SeenSeries:
        length = int(collated.lengths[row])
        frames = self.frames(collated.values[row, :length, 0].cpu().float())
        return SeenSeries(frames.numpy(), seconds=length / RATE)

    def learned(self) -> dict[str, Any]:
        return {**super().learned(), "config": self.config}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        super().relearn(learned)
        self._config = dict(learned.get("config", {}))
