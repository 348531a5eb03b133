"""The normalizers of the logits of a search and the highest of them, in compiled kernels for the CPU."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.path import Path
from regard.nn.search.stepper import Bounds
from regard.parts import register
from regard.structures.kernels.availability import within_reach
from regard.structures.kernels.cpu.parallel import over_batch


@register("path", "best-cpu")
class BestOnCPU(Path):
    """log Σ exp of the logits of a search and the highest of them, in compiled kernels for the CPU."""

    serves = "search.best"
    devices = ("cpu",)
    rank = 10

    def takes(
        self, logits: Tensor, count: int, bounds: Bounds | None, step: int, allowed: Tensor | None
    ) -> bool:
        return within_reach(logits, rows=len(logits))

    def why_not(
        self, logits: Tensor, count: int, bounds: Bounds | None, step: int, allowed: Tensor | None
    ) -> str:
        return ""

    def run(
        self, logits: Tensor, count: int, bounds: Bounds | None, step: int, allowed: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        from regard.fast.cpu.best import normalize_rows, top_rows

        shape, vocabulary = logits.shape[:-1], logits.shape[-1]
        rows = logits.reshape(-1, vocabulary).contiguous()
        normalizers = rows.new_empty(len(rows))
        over_batch(normalize_rows, len(rows), vocabulary, rows.numpy(), normalizers.numpy())
        if bounds is not None:
            bounds.apply(logits, step, allowed)
            rows = logits.reshape(-1, vocabulary).contiguous()
        values, words = rows.new_empty(len(rows), count), torch.empty(len(rows), count, dtype=torch.int64)
        if count:
            over_batch(top_rows, len(rows), vocabulary, rows.numpy(), values.numpy(), words.numpy())
        return normalizers.view(shape), values.view(*shape, count), words.view(*shape, count)
