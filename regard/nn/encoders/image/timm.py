"""Networks of timm by name, with or without their pretrained weights."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import torch
from torch import Tensor

from regard.errors import MissingExtra, RegardError
from regard.nn.encoders.image.network import (
    SUMMARY_LETTERS,
    Canvas,
    ImageNetwork,
    map_at,
    summary_lines,
    summary_of,
)
from regard.nn.feature_cache import FeatureCache
from regard.nn.letters import Letters
from regard.nn.pretrained_body import ModelOrigin
from regard.parts import Mistakes, Size, register


@register("network", "timm")
class Backbone(ImageNetwork):
    """The last feature map of a network of timm: `resnet18`, `vgg16`, `vit_small_patch16_224`, …

    pretrained   start from the published weights, which timm downloads
    frozen       do not train the network, and do not update the statistics of its normalizations

    Pixels are normalized as for the published weights.
    """

    class Options(ImageNetwork.Options):
        """A network of the library timm."""

        name: str
        """Name of the network in timm: resnet18."""
        pretrained: bool = False
        """Start from the published weights."""
        train: Literal["full", "frozen"] = "full"
        """full: train all weights; frozen: the pretrained weights stay as they are, and the features of each image are
        computed once."""
        connected: Size | None = None
        """Units of a layer over the whole grid that summarizes the image; default: the mean over the grid."""

    @classmethod
    def build(
        cls, options: Any, canvas: Canvas, *, dropout: float = 0.0, read_files: bool = True
    ) -> Backbone:
        return cls(
            options.name,
            canvas,
            pretrained=options.pretrained and read_files,
            frozen=options.train == "frozen",
            connected=options.connected,
            dropout=dropout,
        )

    @classmethod
    def check(cls, options: Any, sides: tuple[int, int], mistakes: Mistakes) -> None:
        if options.train == "frozen" and not options.pretrained:
            mistakes.add(
                "train: frozen needs pretrained weights, and this network has none.",
                "train",
                fix="Add  pretrained: true, or leave train out.",
            )

    @classmethod
    def board(cls, options: Any, seen: str, at: str, summary: str) -> list[str]:
        weights = "pretrained" if options.pretrained else "randomly initialized"
        frozen = ", frozen" if options.train == "frozen" else ""
        return [
            f"— {map_at('G', at)}: the last feature map of timm's {options.name} for {seen}; {weights}{frozen}",
            *summary_lines(options.connected, at, summary),
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return {**SUMMARY_LETTERS, "body.**": "G"}

    @classmethod
    def pixel_line(cls, options: Any, at: str) -> str:
        below = f"_{at}" if at else ""
        return f"— x{below}: the pixels, normalized as {options.name} was trained with"

    def __init__(
        self,
        name: str,
        canvas: Canvas,
        *,
        pretrained: bool = False,
        frozen: bool = False,
        connected: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.frozen = frozen
        self.cache: FeatureCache | None = None
        colors, height, width = canvas
        self.body, published = _body(name, colors, pretrained)
        if pretrained:
            license = str(getattr(published, "license", None) or "")
            self.origin = ModelOrigin(f"timm:{name}", {}, license)
        if published is not None:
            self.mean, self.std = tuple(published.mean), tuple(published.std)
        if colors == 1:
            self.mean, self.std = (sum(self.mean) / len(self.mean),), (sum(self.std) / len(self.std),)
        self.channels = int(self.body.feature_info.channels()[-1])
        self.body.requires_grad_(not frozen)
        self.grid = self._grid(colors, height, width)
        self.summary = summary_of(connected, self.channels, self.grid, dropout=dropout)
        self.summary_size = self.summary.size

    origin: ModelOrigin | None = None
    """Where the weights were read from; None in a model that was loaded."""

    @torch.no_grad()
    def _grid(self, colors: int, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of the features, found by running the network once."""
        self.body.eval()
        rows, columns = self._features(torch.zeros(1, colors, height, width)).shape[2:]
        self.body.train(not self.frozen)
        return int(rows), int(columns)

    def _features(self, pixels: Tensor) -> Tensor:
        features: Tensor = self.body(pixels)[-1]
        if features.ndim == 4 and features.shape[1] != self.channels:
            features = features.movedim(-1, 1)  # (B, rows, columns, D), the order of some transformers
        if features.ndim != 4 or features.shape[1] != self.channels:
            raise RegardError(
                f"the timm network must give features (B, {self.channels}, rows, columns); received "
                f"{tuple(features.shape)}.",
                fix="Choose a network that gives a grid, such as resnet18.",
            )
        return features

    def train(self, mode: bool = True) -> Backbone:
        super().train(mode)
        if self.frozen:
            self.body.eval()
            if mode and self.cache is None:  # a model that only answers keeps nothing
                self.cache = FeatureCache()
        return self

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        if self.cache is not None:
            features = torch.stack(
                self.cache.rows(_keys(pixels), lambda row: self._features(pixels[row : row + 1])[0])
            )
            return features, self.summary(features)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            features = self._features(pixels)
        return features, self.summary(features)


def _keys(pixels: Tensor) -> list[int]:
    """A hash of each image."""
    rows = pixels.detach().cpu().contiguous().numpy()
    return [int.from_bytes(hashlib.blake2b(row.tobytes(), digest_size=8).digest()) >> 1 or 1 for row in rows]


def _body(name: str, colors: int, pretrained: bool) -> tuple[Any, Any]:
    """The network and its published configuration."""
    try:
        import timm
    except ImportError:
        raise MissingExtra("timm", "vision", f"The network timm {name}") from None
    if not timm.is_model(name):
        near = timm.list_models(f"*{name.split('_')[0]}*")[:3]
        raise RegardError(
            f"timm has no network {name!r}.",
            where="encoder.network",
            fix=f"Did you mean {', '.join(near)}?" if near else "See timm.list_models().",
        )
    try:
        body = timm.create_model(name, pretrained=pretrained, features_only=True, in_chans=colors)
    except (OSError, RuntimeError, ValueError) as error:  # the hub's errors, and a network without weights
        if not pretrained:
            raise
        raise RegardError(
            f"the published weights of {name} could not be loaded: {_first_line(error)}.",
            where="encoder.network.pretrained",
            fix=f"Fetch them once with a network:  python -c \"import timm; timm.create_model('{name}', "
            'pretrained=True)"  or set pretrained: false.',
        ) from error
    return body, timm.get_pretrained_cfg(name, allow_unregistered=True)


def _first_line(error: Exception) -> str:
    """The first line of a message, without its period; the class of an error without a message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
