"""All layers of a Transformer in training on CUDA, captured as a graph for each bucket of rows and positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.fast.paths.recorded import NOT_RECORDABLE
from regard.fast.recording.buckets import rounded, rounded_rows
from regard.fast.recording.recordable import recordable
from regard.fast.recording.replayed_gradient import replayed
from regard.nn.path import Path
from regard.parts import register

Masked = tuple[Tensor, Tensor | None]
"""Vectors (B, S, D), and the mask (B, 1, 1, S) of the allowed positions, if there is one."""


@register("path", "recorded-layers")
class RecordedLayers(Path):
    """All layers of a Transformer in training on CUDA, captured as one graph, forward and backward."""

    serves = "transformer.layers"
    devices = ("cuda",)
    rank = 20

    def takes(self, owner: Any, x: Masked, *looked_at: Masked) -> bool:
        return x[0].is_cuda and torch.is_grad_enabled()

    def why_not(self, owner: Any, x: Masked, *looked_at: Masked) -> str:
        return "" if recordable(owner) else NOT_RECORDABLE

    def run(self, owner: Any, x: Masked, *looked_at: Masked) -> Tensor:
        rows, count, _ = x[0].shape
        given = [one for pair in (x, *looked_at) for one in in_bucket(*pair)]
        return replayed(owner, owner.through, *given)[0][:rows, :count]


def in_bucket(x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, ...]:
    """On CUDA in training, pad rows and positions to the next bucket, so that few shapes are captured.

    x (B, S, D), mask (B, 1, 1, S). The mask allows the first position of each added row.
    """
    if x.is_cuda and torch.is_grad_enabled():
        rows, count, _ = x.shape
        more, further = rounded_rows(rows) - rows, rounded(count, 8, 8) - count
        x = nn.functional.pad(x, (0, 0, 0, further, 0, more))
        if mask is not None:
            mask = nn.functional.pad(mask, (0, further, 0, 0, 0, 0, 0, more))
            mask[rows:, ..., 0] = True
    return (x,) if mask is None else (x, mask)
