"""The highest logits of a search in a compiled kernel for the CPU."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.path import Path
from regard.parts import register
from regard.structures.kernels.availability import within_reach
from regard.structures.kernels.cpu.parallel import over_batch


@register("path", "top-cpu")
class TopOnCPU(Path):
    """The highest logits of a search in a compiled kernel for the CPU."""

    serves = "search.top"
    devices = ("cpu",)
    rank = 10

    def takes(self, logits: Tensor, count: int) -> bool:
        return within_reach(logits, rows=len(logits))

    def why_not(self, logits: Tensor, count: int) -> str:
        return ""

    def run(self, logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
        from regard.fast.cpu.best import top_rows

        rows = logits.reshape(-1, logits.shape[-1]).contiguous()
        values, words = rows.new_empty(len(rows), count), torch.empty(len(rows), count, dtype=torch.int64)
        over_batch(top_rows, len(rows), rows.shape[1], rows.numpy(), values.numpy(), words.numpy())
        shape = (*logits.shape[:-1], count)
        return values.view(shape), words.view(shape)
