"""The small residual network of captions in NumPy, for the Python code of entries: from the pixels to annotations."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from PIL import Image

from regard.course.lectures.by_hand import weights

__all__ = ["image_annotations"]

Array = NDArray[np.float64]


def image_annotations(model: Any, name: str, picture: str) -> tuple[Array, Array]:
    """The annotations (S, F + 2) of a picture, of a file in a data URI, by a residual network of two blocks, each the
    features of its place and where it is, and the summary: h_j = [G[j]; λ_j] and relu(W [G[1]; …; G[S]] + b), with G by
    `residual_map`."""
    of = weights(model, f"encoders.{name}.network.")
    file = io.BytesIO(base64.b64decode(picture.partition(",")[2]))
    G = residual_map(of, np.asarray(Image.open(file).convert("RGB")))
    centers = (2 * np.arange(len(G)) + 1) / len(G) - 1
    y, x = np.meshgrid(centers, centers, indexing="ij")
    summary = of["summary.layer.weight"] @ np.moveaxis(G, -1, 0).flatten() + of["summary.layer.bias"]
    return np.dstack([G, x, y]).reshape(-1, G.shape[2] + 2), np.maximum(summary, 0)


def residual_map(of: dict[str, Array], pixels: Any) -> Array:
    """The map (R, R, F) of an image: m_0 = maxpool(relu(norm(F_0 * x))), m_1 = block(m_0), G = block(maxpool(m_1)),
    where block(x) = relu(norm(F * x) + norm(F′ * relu(norm(F″ * x))))."""

    def normed(x: Array, F: Array, under: str, *, stride: int = 1) -> Array:
        edge = (F.shape[2] - 1) // 2
        padded: Any = np.pad(x, ((edge, edge), (edge, edge), (0, 0)))
        seen = sliding_window_view(padded, F.shape[2:], (0, 1))[::stride, ::stride]
        x = np.tensordot(seen, F, ((2, 3, 4), (1, 2, 3)))
        x = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
        return np.asarray(of[f"{under}.weight"] * x + of[f"{under}.bias"])

    def block(x: Array, place: int) -> Array:
        past, first, second = (f"stages.{place}.{part}" for part in ("past", "first", "second"))
        y = np.maximum(normed(x, of[f"{first}.0.weight"], f"{first}.1"), 0)
        added = normed(y, of[f"{second}.0.weight"], f"{second}.1")
        return np.maximum(normed(x, of[f"{past}.0.weight"], f"{past}.1") + added, 0)

    x = (np.asarray(pixels, float) / 255 - 0.5) / 0.25
    x = np.maximum(normed(x, of["first.layer.weight"], "first.norm", stride=2), 0)
    return block(_largest(block(_largest(x), 1)), 3)


def _largest(x: Array) -> Array:
    """The largest of each 2 × 2 places."""
    return np.asarray(x.reshape(len(x) // 2, 2, -1, 2, x.shape[2]).max((1, 3)))
