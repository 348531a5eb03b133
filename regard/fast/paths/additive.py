"""The additive score of several queries on CUDA, in one kernel."""

from __future__ import annotations

from torch import Tensor

from regard.nn.path import Path
from regard.nn.scores import Additive
from regard.parts import register
from regard.structures.kernels.availability import triton_takes


@register("path", "additive")
class AdditiveKernel(Path):
    """v · tanh(U q + W h) of several queries in a kernel for CUDA, which does not keep the tanh."""

    serves = "score.additive"
    devices = ("cuda",)
    rank = 20

    def takes(self, score: Additive, query: Tensor, keys: Tensor) -> bool:
        return query.shape[1] > 1 and triton_takes(query)

    def why_not(self, score: Additive, query: Tensor, keys: Tensor) -> str:
        return "There is one query." if query.shape[1] == 1 else ""

    def run(self, score: Additive, query: Tensor, keys: Tensor) -> Tensor:
        from regard.fast.cuda.additive import additive_scores

        return additive_scores(score.query(query), keys, score.vector)
