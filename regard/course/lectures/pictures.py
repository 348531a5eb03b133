"""The networks of images in NumPy, for the Python code of entries: from the pixels to maps and annotations."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image

from regard.course.lectures.by_hand import Array, Weights, weights

__all__ = [
    "frame_vector",
    "image_annotations",
    "image_map",
    "image_vector",
    "lenet",
    "motion_vector",
    "residual_map",
    "squash",
    "vgg",
]


def image_annotations(model: Any, name: str, picture: str) -> tuple[Array, Array]:
    """The annotations (S, F + 2) of a picture, of a file in a data URI, by a residual network of two blocks, each the
    features of its place and where it is, and the summary: h_j = [G[j]; λ_j] and relu(W [G[1]; …; G[S]] + b), with G by
    `residual_map`."""
    of = weights(model, f"encoders.{name}.network.")
    file = io.BytesIO(base64.b64decode(picture.partition(",")[2]))
    G = residual_map(of, np.asarray(Image.open(file).convert("RGB")))
    centers = (2 * np.arange(G.shape[1]) + 1) / G.shape[1] - 1
    y, x = np.meshgrid(centers, centers, indexing="ij")
    summary = of["summary.layer.weight"] @ G.flatten() + of["summary.layer.bias"]
    return np.vstack([G, [x, y]]).reshape(len(G) + 2, -1).T, np.maximum(summary, 0)


def image_map(model: Any, name: str, pixels: Any, *, halvings: int) -> Array:
    """The map (R, C, F) that a small VGG makes of an image: relu(norm(F * x)) for each of its convolutions of 3 × 3,
    and the largest of each 2 × 2 places after the first `halvings` of them."""
    of, network = weights(model, f"encoders.{name}."), model.network.encoders[name]
    kept = {key: value.numpy() for key, value in network.named_buffers()}
    x = _scaled(pixels)
    for number, F in enumerate(key for key, value in of.items() if value.ndim == 4):
        norm = F.replace(".0.weight", ".1.")
        g, b, mean, var = (
            found[norm + key][:, None, None]
            for found, key in ((of, "weight"), (of, "bias"), (kept, "running_mean"), (kept, "running_var"))
        )
        x = np.maximum(g * (_convolved(of[F], x) - mean) / np.sqrt(var + 1e-5) + b, 0)
        if number < halvings:
            x = _largest(x)
    return np.moveaxis(x, 0, -1)


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


def image_vector(model: Any, name: str, pixels: Any) -> Array:
    """The summary that a small VGG makes of an image (R, C, 3): `_vector`."""
    return _vector(model, f"{name}.network", _scaled(pixels))


def frame_vector(model: Any, name: str, pixels: Any) -> Array:
    """What a video encoder's network makes of a frame (R, C, 3): `_vector`."""
    return _vector(model, f"{name}.frames", _scaled(pixels))


def motion_vector(model: Any, name: str, film: Any, j: int) -> Array:
    """What a video encoder's second network makes of the changes to frame j of a film (S, R, C, 3) and from it on,
    [x_j − x_{j−1}; x_{j+1} − x_j], with zeros for the change to a frame that is missing: `_vector`."""
    x = [_scaled(one) for one in film[max(j - 1, 0) : j + 2]]
    x = [*x[: 1 if j == 0 else 0], *x, *x[len(x) - (1 if j == len(film) - 1 else 0) :]]
    return _vector(model, f"{name}.motion", np.vstack([x[1] - x[0], x[2] - x[1]]))


def _vector(model: Any, place: str, x: Array) -> Array:
    """relu(g (F * x − μ) / √(ω + 0.00001) + b) of each convolution and the largest of each 2 × 2 places, then
    relu(W G + b) of all places."""
    of = weights(model, f"encoders.{place}.")
    kept = {key: value.numpy() for key, value in model.network.encoders.get_submodule(place).named_buffers()}
    for F in (key for key, value in of.items() if value.ndim == 4):
        norm = F.replace(".0.weight", ".1.")
        g, b = (of[norm + key][:, None, None] for key in ("weight", "bias"))
        mean, variance = (kept[norm + key][:, None, None] for key in ("running_mean", "running_var"))
        x = np.maximum(g * (_convolved(of[F], x) - mean) / np.sqrt(variance + 1e-5) + b, 0)
        x = _largest(x)
    return np.asarray(np.maximum(of["summary.layer.weight"] @ x.ravel() + of["summary.layer.bias"], 0))


def residual_map(of: Weights, pixels: Any, *, skip: float = 1.0) -> Array:
    """The map (F, R, C) that a residual network makes of an image: blocks relu(skip x + F(x)), where x passes a
    convolution of 1 × 1 if its features change, and the largest of 2 × 2 places between them."""

    def layer(x: Array, place: str, step: int = 1, norm: str = ".1", kernel: str = ".0") -> Array:
        F, g, b = of[f"{place}{kernel}.weight"], of[f"{place}{norm}.weight"], of[f"{place}{norm}.bias"]
        x = _convolved(F, x)[:, ::step, ::step]
        x = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
        return np.asarray(g[:, None, None] * x + b[:, None, None])

    x = np.maximum(layer(_scaled(pixels), "first", 2, ".norm", ".layer"), 0)
    for stage in range(1 + max(int(key.split(".")[1]) for key in of if key.startswith("stages."))):
        block = f"stages.{stage}"
        if f"{block}.first.0.weight" not in of:
            x = _largest(x)
            continue
        past = layer(x, f"{block}.past") if f"{block}.past.0.weight" in of else x
        x = np.maximum(skip * past + layer(np.maximum(layer(x, f"{block}.first"), 0), f"{block}.second"), 0)
    return np.asarray(x)


def _scaled(pixels: Any) -> Array:
    """Pixels (R, C, 3) from 0 to 255 as a map (3, R, C) from −2 to 2."""
    return np.moveaxis((np.asarray(pixels, float) / 255 - 0.5) / 0.25, -1, 0)


def _convolved(F: Array, x: Array) -> Array:
    """F * x at every place of x, with zeros around it; the kernel has an odd side."""
    edge = (F.shape[-1] - 1) // 2
    padded: Any = np.pad(x, ((0, 0), (edge, edge), (edge, edge)))
    seen = sliding_window_view(padded, F.shape[2:], (1, 2))
    return np.asarray(np.tensordot(F, seen, ((1, 2, 3), (0, 3, 4))))


def _largest(maps: Array) -> Array:
    """The largest of each 2 × 2 places of maps (C, R, K)."""
    features, rows, columns = maps.shape
    return np.asarray(maps.reshape(features, rows // 2, 2, columns // 2, 2).max((2, 4)))


TABLE = (
    *((0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5), (0, 4, 5), (0, 1, 5)),
    *((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (0, 3, 4, 5), (0, 1, 4, 5), (0, 1, 2, 5)),
    *((0, 1, 3, 4), (1, 2, 4, 5), (0, 2, 3, 5)),
    (0, 1, 2, 3, 4, 5),
)
"""Table I of LeCun, Bottou, Bengio and Haffner (1998): the maps of S2 that each of the 16 maps of C3 sees."""


def squash(values: Any) -> Any:
    """1.7159 tanh(2x / 3)."""
    return 1.7159 * np.tanh(2 * values / 3)


def lenet(
    of: Weights, pixels: Any, *, pool: Callable[..., Any] = np.mean, bend: Callable[[Any], Any] = squash
) -> Array:
    """F6 of LeNet-5, of a gray image (32, 32) with values from 0 to 255; by way of C1, S2, C3, S4 and C5.

    pool   what is kept of 2 × 2 places
    bend   the nonlinearity
    """
    x = 1.175 - 1.275 * np.asarray(pixels, float) / 255
    c1 = bend(np.array([_slid(x, F[0]) + b for F, b in zip(of["c1.weight"], of["c1.bias"], strict=True)]))
    s2 = bend(_halved(c1, of["s2.weight"], of["s2.bias"], pool))  # (6, 14, 14)
    kernels = iter(of["c3.kernels"])
    seen = [sum(_slid(s2[k], next(kernels)) for k in maps) for maps in TABLE]
    c3 = bend(np.array([one + b for one, b in zip(seen, of["c3.bias"], strict=True)]))
    s4 = bend(_halved(c3, of["s4.weight"], of["s4.bias"], pool))  # (16, 5, 5)
    c5 = bend(of["c5.weight"] @ s4.flatten() + of["c5.bias"])
    return np.asarray(bend(of["f6.weight"] @ c5 + of["f6.bias"]))


def _slid(x: Array, kernel: Array) -> Array:
    """A kernel of 5 × 5 at each of its places in a map."""
    rows, columns = (side - 4 for side in x.shape)
    found = [[(x[i : i + 5, j : j + 5] * kernel).sum() for j in range(columns)] for i in range(rows)]
    return np.array(found)


def _halved(maps: Array, gains: Array, biases: Array, pool: Callable[..., Any]) -> Array:
    """g · pool of each 2 × 2 places + b, with one g and one b for each map."""
    kept = [pool(one.reshape(len(one) // 2, 2, -1, 2), axis=(1, 3)) for one in maps]
    return np.array([g * one + b for one, g, b in zip(kept, gains, biases, strict=True)])
