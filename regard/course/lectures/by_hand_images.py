"""The networks that read images, in NumPy from the pixels on, and what a figure draws of them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import PIL.Image
from numpy.lib.stride_tricks import sliding_window_view

from regard.course.lectures.by_hand import Array, weights
from regard.inspect.scene import Image as Picture
from regard.inspect.scene import Scene

__all__ = ["frame_vector", "pictures", "vgg"]


def vgg(model: Any, name: str, pixels: Any, *, pooled: Sequence[int]) -> tuple[Array, Array]:
    """The map (R, C, 512) of the last convolution of a published VGG, and its fc7: relu(F * x + b) for each convolution
    of 3 × 3, and relu(W x + b) twice.

    pooled   the numbers of the convolutions, from 1, after which the largest of each 2 × 2 places is kept
    """
    of, x = weights(model, f"encoders.{name}.network."), _scaled(pixels)
    for number, F in enumerate((key for key, value in of.items() if value.ndim == 4), 1):
        x = np.maximum(_convolved(of[F], x) + of[F.replace("weight", "bias")][:, None, None], 0)
        if number in pooled:
            x = _largest(x)
    fc6, fc7 = ((of[f"connected.{layer}.weight"], of[f"connected.{layer}.bias"]) for layer in (2, 5))
    fc = np.maximum(fc6[0] @ _largest(x).ravel() + fc6[1], 0)
    return np.moveaxis(x, 0, -1), np.maximum(fc7[0] @ fc + fc7[1], 0)


def frame_vector(model: Any, name: str, pixels: Any) -> Array:
    """What a video encoder's network makes of a frame: relu(g (F * x − μ) / √(ω + 0.00001) + b) of each convolution and
    the largest of each 2 × 2 places, then relu(W G + b) of all places."""
    of, x = weights(model, f"encoders.{name}.frames."), _scaled(pixels)
    kept = {key: value.numpy() for key, value in model.network.encoders[name].frames.named_buffers()}
    for F in (key for key, value in of.items() if value.ndim == 4):
        norm = F.replace(".0.weight", ".1.")
        g, b = (of[norm + key][:, None, None] for key in ("weight", "bias"))
        mean, variance = (kept[norm + key][:, None, None] for key in ("running_mean", "running_var"))
        x = np.maximum(g * (_convolved(of[F], x) - mean) / np.sqrt(variance + 1e-5) + b, 0)
        x = _largest(x)
    return np.asarray(np.maximum(of["summary.layer.weight"] @ x.ravel() + of["summary.layer.bias"], 0))


def _scaled(pixels: Any) -> Array:
    """Pixels (R, C, 3) from 0 to 255 as a map (3, R, C) from −2 to 2."""
    return np.moveaxis((np.asarray(pixels, float) / 255 - 0.5) / 0.25, -1, 0)


def _convolved(F: Array, x: Array) -> Array:
    """F * x of a kernel of 3 × 3, with zeros around x."""
    padded: Any = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    seen = sliding_window_view(padded, (3, 3), (1, 2))
    return np.asarray(np.tensordot(F, seen, ((1, 2, 3), (0, 3, 4))))


def _largest(maps: Array) -> Array:
    """The largest of each 2 × 2 places of maps (C, R, K)."""
    features, rows, columns = maps.shape
    return np.asarray(maps.reshape(features, rows // 2, 2, columns // 2, 2).max((2, 4)))


def pictures(scene: Scene) -> list[tuple[Array, list[Array]]]:
    """The images of a figure (R, C, 3), in its order, and beside each, for each word, how bright every pixel (R, C) of
    its copy is: 1 less the opacity of its veil."""

    def within(mark: Any) -> Iterator[Any]:
        yield mark
        for one in getattr(mark, "marks", ()):
            yield from within(one)

    def drawn(mark: Any) -> list[Array]:
        images = [one.png for one in within(mark) if isinstance(one, Picture)]
        return [np.asarray(PIL.Image.open(io.BytesIO(one)).convert("RGBA")) for one in images]

    def looks(mark: Any) -> list[Array]:
        veils = [drawn(one)[1] for one in within(mark) if getattr(one, "kind", "") == "look"]
        return [1 - veil[..., -1] / 255 for veil in veils]

    found = [one for one in within(scene) if getattr(one, "kind", "") == "picture"]
    return [(drawn(one)[0][..., :3], looks(one)) for one in found]
