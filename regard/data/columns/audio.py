"""Audio: from a path or bytes to log-mel frames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from regard.data.audio import decode, encode_wav, resample
from regard.data.columns.column import Column
from regard.data.contents import Contents, Unreadable, data_uri, shown
from regard.data.media import Series
from regard.data.mel import LogMel
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Plan, Positive, Settings, Share, Size, part, register
from regard.trace import SeenSeries

Normalize = Literal["utterance", "learned", "none"]
LEARNED_FROM = 1000
"""Number of recordings from which mean and standard deviation of the bands are fitted."""
SPEEDS = 40
"""Speeds change in steps of 1/40, so that few resampling filters are needed."""
LEAST_SPREAD = 1e-3


@dataclass(frozen=True)
class SoundVariation:
    """Augmentation of audio in training: SpecAugment masks (Park 2019), speed, noise and loudness.

    time_masks, frequency_masks   number of masks, each of a random width
    time_width, frequency_width   largest width of a mask, as a share of the frames or bands
    speed    largest change of speed, as a share; the pitch changes with it
    noise    largest amplitude of white noise, as a share of the recording's own
    loudness largest change of loudness, in decibels
    """

    time_masks: int = 0
    time_width: float = 0.1
    frequency_masks: int = 0
    frequency_width: float = 0.15
    speed: float = 0.0
    noise: float = 0.0
    loudness: float = 0.0

    def sound(self, samples: Tensor, generator: np.random.Generator) -> Tensor:
        """The samples with random speed, noise and loudness."""
        if self.speed:
            reach = round(SPEEDS * self.speed)
            samples = resample(samples, SPEEDS + int(generator.integers(-reach, reach + 1)), SPEEDS)
        if self.noise:
            loudness = float(samples.square().mean().sqrt()) * self.noise * generator.random()
            drawn = generator.standard_normal(len(samples), dtype=np.float32)
            samples = samples + loudness * torch.from_numpy(drawn)
        if self.loudness:
            samples = samples * 10 ** (generator.uniform(-self.loudness, self.loudness) / 20)
        return samples

    def masked(self, frames: Array, generator: np.random.Generator) -> Array:
        """Frames (T, mels) with random spans of time and frequency set to 0, their mean."""
        for axis, count, width in (
            (0, self.time_masks, self.time_width),
            (1, self.frequency_masks, self.frequency_width),
        ):
            length = frames.shape[axis]
            for _ in range(count):
                wide = int(generator.integers(0, int(width * length) + 1))
                start = int(generator.integers(0, length - wide + 1))
                frames[(slice(None),) * axis + (slice(start, start + wide),)] = 0.0
        return frames


class AudioAugmentOptions(Settings):
    """Augmentation of audio in training, random in each epoch: masks (SpecAugment, Park 2019), speed, noise,
    loudness."""

    time_masks: Annotated[int, Field(ge=0)] = 0
    """Number of masked spans of time."""
    time_width: Share = 0.1
    """Largest width of a time mask, as a share of the duration."""
    frequency_masks: Annotated[int, Field(ge=0)] = 0
    """Number of masked spans of frequency."""
    frequency_width: Share = 0.15
    """Largest width of a frequency mask, as a share of the mel bands."""
    speed: Annotated[float, Field(ge=0.0, le=0.5)] = 0.0
    """Largest change of speed, as a share; the pitch changes with it."""
    noise: Annotated[float, Field(ge=0.0)] = 0.0
    """Largest amplitude of white noise, as a share of the recording's own."""
    loudness: Annotated[float, Field(ge=0.0, le=40.0)] = 0.0
    """Largest change of loudness, in decibels."""

    @model_validator(mode="after")
    def _of_masks(self) -> Any:
        for kind in ("time", "frequency"):
            if f"{kind}_width" in self.model_fields_set and not getattr(self, f"{kind}_masks"):
                raise ValueError(f"{kind}_width has no effect without masks. Add  {kind}_masks: 2")
        return self


@register("column", "audio")
class AudioColumn(Column):
    """WAV, FLAC and other formats of libsndfile, as a path or a data URI → (T, mels) float32.

    All channels are mixed down, and the audio is resampled to `rate`.

    normalize     utterance: mean 0 and standard deviation 1 per band within a recording, so that loudness and
                  microphone do not matter; learned: within the training data; none: the log energies themselves
    max_seconds   longer recordings are refused
    augment       the augmentation that `varied` applies
    """

    class Options(Column.Options):
        """Audio as log-mel frames, from a path or a data URI."""

        rate: Annotated[int, Field(ge=1000, le=192000)] = 16000
        """Sampling rate to which audio is converted, in Hz."""
        mels: Size = 40
        """Number of mel bands."""
        window_ms: Positive = 25.0
        """Length of a frame, in milliseconds."""
        hop_ms: Positive = 10.0
        """Distance between frames, in milliseconds."""
        normalize: Normalize = "utterance"
        """Scale each band to mean 0 and standard deviation 1 within the recording (utterance) or the training data
        (learned)."""
        max_seconds: Positive = 30.0
        """A longer recording is a bad row."""
        augment: AudioAugmentOptions | None = None
        """Random variations in training."""

        @model_validator(mode="after")
        def _covered(self) -> Any:
            LogMel(self.rate, mels=self.mels, window_ms=self.window_ms, hop_ms=self.hop_ms)
            return self

    type = "audio"
    names_files = True
    drawn = True
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    encoder = "pyramidal"
    has_regions = True

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return (
            f"{name}: audio at {options.rate / 1000:g} kHz, {options.mels} log-mel bands of {options.window_ms:g} ms "
            f"every {options.hop_ms:g} ms"
        )

    cached = False

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        if not asked.get("read_by"):
            return super().build(options, name, plan, asked)
        given = {"model": asked["read_by"]}
        made: Column = part("column", "wave-audio").build(options, name, plan, given)
        return made

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        rate: int = 16000,
        mels: int = 40,
        window_ms: float = 25.0,
        hop_ms: float = 10.0,
        normalize: Normalize = "utterance",
        max_seconds: float = 30.0,
        augment: SoundVariation | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, field=field)
        self.frames = LogMel(rate, mels=mels, window_ms=window_ms, hop_ms=hop_ms)
        self.rate, self.mels, self.window_ms, self.hop_ms = rate, mels, window_ms, hop_ms
        self.normalize, self.max_seconds = normalize, max_seconds
        self.augment = SoundVariation(**augment) if isinstance(augment, Mapping) else augment
        self.mean, self.spread = np.zeros(mels, np.float32), np.ones(mels, np.float32)
        self._contents = Contents()

    @property
    def width(self) -> int:
        """Number of features of a frame."""
        return self.mels

    @property
    def frame_seconds(self) -> float:
        """Time from one frame to the next."""
        return self.frames.frame_seconds

    def samples(self, value: str) -> Tensor:
        """(N) at the column's rate; raises `Unreadable` if there are none."""
        content = self._contents.read(value)
        samples, rate = decode(content, shown(value), most_seconds=self.max_seconds)
        return resample(torch.from_numpy(samples), rate, self.rate)

    def learn(self, values: Iterable[str]) -> None:
        if self.normalize != "learned":
            return
        count, total, squares = 0, np.zeros(self.mels), np.zeros(self.mels)
        for value in islice(values, LEARNED_FROM):
            try:
                frames = self.frames(self.samples(value)).numpy().astype(np.float64)
            except Unreadable:
                continue  # reported when the rows are encoded
            count += len(frames)
            total += frames.sum(0)
            squares += (frames**2).sum(0)
        if count:
            mean = total / count
            self.mean = mean.astype(np.float32)
            self.spread = np.sqrt(np.maximum(squares / count - mean**2, LEAST_SPREAD**2)).astype(np.float32)

    def written(self, value: Any) -> str:
        if isinstance(value, bytes | bytearray):
            return data_uri(bytes(value), "audio/flac" if bytes(value[:4]) == b"fLaC" else "audio/wav")
        if isinstance(value, tuple) and len(value) == 2:
            samples, rate = value
            return data_uri(encode_wav(np.asarray(samples), int(rate)), "audio/wav")
        if isinstance(value, np.ndarray):
            raise RegardError(
                "an array of samples has no sampling rate.",
                where=self.name,
                fix=f"Give a pair:  {{{self.name!r}: (samples, rate)}}.",
            )
        if isinstance(value, str | os.PathLike):
            return str(os.fspath(value))
        raise RegardError(
            f"received a {type(value).__name__}, expected a path, bytes, or samples with their rate.",
            where=self.name,
        )

    def located(self, value: str, file: str) -> str:
        return self._contents.find(value.strip(), [os.path.dirname(file), ""])

    def encode(self, value: str) -> Array:
        return self._normalized(self.frames(self.samples(value)).numpy())

    @property
    def varies(self) -> bool:
        return self.augment is not None

    def varied(self, value: str, generator: np.random.Generator) -> Array:
        if self.augment is None:
            return self.encode(value)
        samples = self.augment.sound(self.samples(value), generator)
        return self.augment.masked(self._normalized(self.frames(samples).numpy()), generator)

    def _normalized(self, frames: Array) -> Array:
        if self.normalize == "utterance":
            mean, spread = frames.mean(0), np.maximum(frames.std(0), LEAST_SPREAD)
        else:
            mean, spread = self.mean, self.spread
        normalized: Array = (frames - mean) / spread
        return normalized

    def decode(self, ids: Sequence[int]) -> str:
        """Not supported: audio is never an output."""
        raise RegardError("audio cannot be an output.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """Empty: the encoder names the positions of the attention."""
        return []

    def seen(self, collated: Series, row: int) -> SeenSeries:
        length = int(collated.lengths[row])
        frames = collated.values[row, :length].cpu().numpy()
        return SeenSeries(frames, seconds=length * self.frame_seconds)

    def cost(self, encoded: Array) -> int:
        """Number of frames."""
        return len(encoded)

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Series:
        """values (B, T, mels), lengths (B,)"""
        rows = [np.asarray(encoded[row]).reshape(-1, self.mels) for row in range(len(encoded))]
        lengths = torch.tensor([len(row) for row in rows])
        values = torch.zeros(len(rows), int(lengths.max()), self.mels)
        for place, row in enumerate(rows):
            values[place, : len(row)] = torch.from_numpy(row)
        return Series(values, lengths)

    def options(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "rate": self.rate,
            "mels": self.mels,
            "window_ms": self.window_ms,
            "hop_ms": self.hop_ms,
            "normalize": self.normalize,
            "max_seconds": self.max_seconds,
            "augment": None if self.augment is None else asdict(self.augment),
        }

    def learned(self) -> dict[str, Any]:
        if self.normalize != "learned":
            return {}
        return {"mean": self.mean.tolist(), "spread": self.spread.tolist()}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        if "mean" in learned:
            self.mean = np.asarray(learned["mean"], np.float32)
            self.spread = np.asarray(learned["spread"], np.float32)
