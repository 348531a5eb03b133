"""The highest logits of a search in a compiled kernel for the CPU."""

from __future__ import annotations

from torch import Tensor

from regard.nn.path import Path
from regard.parts import register
from regard.structures.kernels.availability import within_reach


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
        from regard.fast.cpu import best

        return best.top(logits, count)
