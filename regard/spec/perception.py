"""Pictures, films and sounds: columns that hold them, truth about them, encoders that read them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from regard.spec.base import Count, Dropout, Part, Positive, Share, Size


def _network(name: str) -> str:
    if name in ("lenet", "resnet", "vgg", "vgg16") or (name.startswith("timm:") and name != "timm:"):
        return name
    raise ValueError(
        f"expected lenet, resnet, vgg, vgg16 or timm:NAME, received {name!r}. Of timm: timm:{name}."
    )


Network = Annotated[str, AfterValidator(_network)]
Pixels = Annotated[int, Field(ge=4, le=4096)]


class PictureAugmentSpec(Part):
    """How a picture is varied in training, anew in each epoch."""

    flip: bool = False
    """Mirrored left to right, every other time."""
    crop: Share = 0.0
    """The largest share of the height and of the width that is cut away."""
    colour: Share = 0.0
    """The largest change of brightness, contrast and saturation, as a share."""


class ImageSpec(Part):
    """A picture: a path, or its bytes as a data URI."""

    type: Literal["image"]
    field: str | None = None
    size: Pixels | tuple[Pixels, Pixels] = 64
    """Height and width of the canvas it is brought to; one number for a square."""
    colour: Literal["rgb", "grey"] = "rgb"
    fit: Literal["crop", "stretch", "pad", "keep"] = "crop"
    """crop: scaled to cover the canvas, what stands out is cut off; stretch: brought to its shape; pad: scaled to lie
    within it, on a white ground; keep: at the left, as large as it is, smaller only where it would not fit."""
    augment: PictureAugmentSpec | None = None


class VideoSpec(Part):
    """A film: a folder of frames, an array of them, a film file, or a data URI."""

    type: Literal["video"]
    field: str | None = None
    size: Pixels | tuple[Pixels, Pixels] = 64
    colour: Literal["rgb", "grey"] = "rgb"
    fit: Literal["crop", "stretch", "pad"] = "crop"
    frames: Count = 32
    """The most frames taken, evenly, of a film that has more."""
    augment: PictureAugmentSpec | None = None


class SeriesAugmentSpec(Part):
    """How a series is varied in training, anew in each epoch."""

    crop: Share = 0.0
    """The largest share cut off at the beginning, and at the end."""
    speed: Share = 0.0
    """Time runs up to this share faster or slower …"""
    warp: Annotated[float, Field(ge=0.0, le=2.0)] = 0.0
    """… and unevenly: progress p becomes p^exp(w), w between −warp and warp."""
    rotate: Annotated[float, Field(ge=0.0, le=180.0)] = 0.0
    """Points are turned about the vertical by up to so many degrees, and half as much about the other axes."""
    scale: Share = 0.0
    """Each coordinate of points is stretched by up to this share."""
    noise: Annotated[float, Field(ge=0.0)] = 0.0
    """Spread of what is added to every number, as a share of the number's own spread in the series."""


class SeriesSpec(Part):
    """A sequence of vectors: the joints of a skeleton, the readings of sensors. A file, or a data URI of an array."""

    type: Literal["series"]
    field: str | None = None
    most: Count = 500
    """The most vectors taken, evenly, of a sequence that has more."""
    points: Literal[2, 3] | None = None
    """The vectors are points with so many coordinates each, such as joints."""
    origin: Annotated[int, Field(ge=0)] | None = None
    """Of points: the one, counted from 0, from which the others are measured, in every frame."""
    unit: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | None = None
    """Of points: the two whose usual distance is one."""
    velocities: bool = False
    """How each number changes from one vector to the next, beside it."""
    augment: SeriesAugmentSpec | None = None

    @model_validator(mode="after")
    def _of_points(self) -> SeriesSpec:
        turned = self.augment is not None and (self.augment.rotate or self.augment.scale)
        if self.points is None and (self.origin is not None or self.unit is not None or turned):
            raise ValueError(
                "origin, unit, rotate and scale are about points, and the vectors are not said to be any. Write how "
                "many coordinates a point has:  points: 3"
            )
        return self


class SoundAugmentSpec(Part):
    """How a sound is varied in training, anew in each epoch: masks (SpecAugment, Park 2019), speed and noise."""

    time_masks: Annotated[int, Field(ge=0)] = 0
    time_width: Share = 0.1
    """The widest mask, as a share of the duration."""
    frequency_masks: Annotated[int, Field(ge=0)] = 0
    frequency_width: Share = 0.15
    """The widest mask, as a share of the mel bands."""
    speed: Annotated[float, Field(ge=0.0, le=0.5)] = 0.0
    """The largest change of speed, as a share; the pitch changes with it."""
    noise: Annotated[float, Field(ge=0.0)] = 0.0
    """The loudest white noise, as a share of the sound's own loudness."""
    loudness: Annotated[float, Field(ge=0.0, le=40.0)] = 0.0
    """The largest change of loudness, in decibels."""


class AudioSpec(Part):
    """A sound, read as log-mel frames: a path, or its bytes as a data URI."""

    type: Literal["audio"]
    field: str | None = None
    rate: Annotated[int, Field(ge=1000, le=192000)] = 16000
    """Samples a second it is brought to."""
    mels: Size = 40
    window_ms: Positive = 25.0
    hop_ms: Positive = 10.0
    normalize: Literal["utterance", "learned", "none"] = "utterance"
    """Each band to mean 0 and spread 1: within the sound, within the training data, or as it is."""
    max_seconds: Positive = 30.0
    """What lasts longer is a bad row."""
    augment: SoundAugmentSpec | None = None


class PlacesSpec(Part):
    """Where in a picture, film or sound lies what a token of the output names: `1:0.1,0.2,0.35,0.45`."""

    type: Literal["places"]
    of: tuple[str, str] | None = None
    """(input, output); the only picture, film or sound, and the only output when absent."""
    field: str | None = None


PerceivedSpec = ImageSpec | VideoSpec | SeriesSpec | AudioSpec
"""Columns that are perceived rather than read."""


class ImageEncoderSpec(Part):
    """A convolutional network: a grid of places to look at, and a summary."""

    type: Literal["image"]
    network: Network = "resnet"
    """lenet (LeNet-5), resnet or vgg (small ones of our own), vgg16, or timm:NAME, a network of that library."""
    channels: Annotated[tuple[Size, ...], Field(min_length=1, max_length=8)] = (16, 32, 64)
    """Of resnet and vgg: features of each stage, the first of resnet a plain convolution; the last are a place's."""
    blocks: Count = 1
    """Of resnet and vgg: residual blocks, or convolutions, in each stage."""
    cell: Count = 8
    """Of resnet and vgg: pixels a place of the grid is wide, a power of two."""
    normalise: Literal["place", "batch"] = "place"
    """Of resnet and vgg: over the features of each place, or each feature over all places of the batch, which learns
    sooner where pictures are much alike."""
    position: Literal["none", "coordinates", "learned"] = "learned"
    """What a place knows of where it is: nothing, its x and y beside its features, or a learned vector in them."""
    rows: bool = False
    """Whether each row of the grid is read in both directions by a recurrent network (Deng 2017): lines of signs."""
    summary: Literal["mean", "connected"] = "mean"
    """Of the whole picture: the mean of its places, or a layer that sees them all; lenet and vgg16 have their own."""
    size: Size = 128
    """Of a connected summary."""
    pretrained: bool = False
    """Of timm: with the weights it was published with."""
    freeze: bool = False
    """Of timm, pretrained: leave these weights as they are."""
    dropout: Dropout = 0.0


class VideoEncoderSpec(Part):
    """h_t = cell(h_{t−1}, CNN(x_t)): a convolutional network for each frame, a recurrent one over time."""

    type: Literal["video"]
    frame: ImageEncoderSpec = ImageEncoderSpec(type="image", network="vgg", summary="connected")
    """The network that sees a frame, as an image encoder's; a vgg with a connected summary where nothing is said."""
    motion: Literal["none", "local"] = "none"
    """local: beside it another such network that sees how the frame differs from the one before and the one after
    (local motion features, Yao 2015)."""
    cell: Literal["none", "rnn", "gru", "lstm"] = "gru"
    """none: what was seen of the frames is the memory, and its mean the summary."""
    size: Size = 128
    """Of the recurrent network, in each direction."""
    bidirectional: bool = True
    values: Literal["states", "frames"] = "states"
    """What a look reads: the states, or what was seen of the frame alone, with the states as keys."""
    dropout: Dropout = 0.0

    @field_validator("frame", mode="before")
    @classmethod
    def _of_a_frame(cls, value: Any) -> Any:
        return (
            {"type": "image", "network": "vgg", "summary": "connected", **value}
            if isinstance(value, dict)
            else value
        )


class PyramidEncoderSpec(Part):
    """Recurrent layers over a sound or a series, the upper ones reading pairs of neighbouring states (Chan 2015)."""

    type: Literal["pyramid"]
    cell: Literal["rnn", "gru", "lstm"] = "lstm"
    size: Size = 128
    """In each direction."""
    layers: Count = 3
    reductions: Annotated[int, Field(ge=0)] = 2
    """How many of the upper layers halve the time."""
    dropout: Dropout = 0.0

    @model_validator(mode="after")
    def _enough_layers(self) -> PyramidEncoderSpec:
        if self.reductions > self.layers:
            raise ValueError(
                f"{self.layers} layers cannot halve the time {self.reductions} times. Add layers."
            )
        return self
