"""log Σ exp of the logits of a search in a compiled kernel for the CPU."""

from __future__ import annotations

from torch import Tensor

from regard.nn.path import Path
from regard.parts import register
from regard.structures.kernels.availability import within_reach
from regard.structures.kernels.cpu.parallel import over_batch


@register("path", "normalizers-cpu")
class NormalizersOnCPU(Path):
    """log Σ exp of the logits of a search in a compiled kernel for the CPU."""

    serves = "search.normalizers"
    devices = ("cpu",)
    rank = 10

    def takes(self, logits: Tensor) -> bool:
        return within_reach(logits, rows=len(logits))

    def why_not(self, logits: Tensor) -> str:
        return ""

    def run(self, logits: Tensor) -> Tensor:
        from regard.fast.cpu.best import normalize_rows

        rows = logits.reshape(-1, logits.shape[-1]).contiguous()
        found = rows.new_empty(len(rows))
        over_batch(normalize_rows, len(rows), rows.shape[1], rows.numpy(), found.numpy())
        return found.view(logits.shape[:-1])
