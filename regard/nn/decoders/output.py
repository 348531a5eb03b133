"""The output layer: from the readout of a decoder to words and their loss."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.nn.embedding import Embedding
from regard.nn.replacing import Replaces
from regard.private import eager, triton_works
from regard.structures.kernels.availability import within_reach


def on_cuda(rows: Tensor, weight: Tensor) -> bool:
    """Whether the CUDA kernels support these tensors."""
    return rows.is_cuda and weight.dtype in (torch.float32, torch.float64) and eager() and triton_works()


class Output(nn.Module):
    """logits = V o + b.

    tied   V is the embedding's own tensor (Press & Wolf 2017); o must then have the embedding's size
    """

    def __init__(self, size: int, vocabulary: int, *, tied: Embedding | None = None) -> None:
        super().__init__()
        bound = 1 / math.sqrt(size)
        if tied is None:
            self.weight = nn.Parameter(torch.empty(vocabulary, size).uniform_(-bound, bound))
        else:
            self.weight = tied.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, rows: Tensor) -> Tensor:
        if rows.dtype == torch.float32 and on_cuda(rows, self.weight) and not torch.is_grad_enabled():
            from regard.fast.cuda.product import multiply, serves

            flat = rows.flatten(0, -2)
            logits = flat.new_empty(len(flat), len(self.weight))
            if serves(flat, logits):
                multiply(flat, self.weight.t(), logits, bias=self.bias)
                return logits.view(*rows.shape[:-1], -1)
        return nn.functional.linear(rows, self.weight, self.bias)

    def distilled(self, rows: Tensor, probabilities: Tensor) -> Tensor:
        """rows (N, O), another model's probabilities p (N, V) → −Σ_n Σ_v p log q, with q from this layer."""
        return -(probabilities * torch.log_softmax(self(rows), -1)).sum()

    @torch.no_grad()
    def costs(self, rows: Tensor, targets: Tensor) -> Tensor:
        """rows (N, O), targets (N) → −log p of each target, (N), without a gradient."""
        return nn.functional.cross_entropy(self(rows), targets, reduction="none")

    def loss(self, rows: Tensor, targets: Tensor, *, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """rows (N, O), targets (N) → the sum to minimize, and the sum of −log p(target).

        With smoothing ε, the target distribution is (1 − ε)·one-hot + ε/V.
        """
        replaced = torch.is_grad_enabled() and OUTPUTS(self)
        if replaced and within_reach(rows, self.weight, rows=len(rows)):
            from regard.fast.cpu.cost import PackedCost

            costs: tuple[Tensor, Tensor] = PackedCost.apply(rows, self.weight, self.bias, targets, smoothing)
            return costs
        if replaced and on_cuda(rows, self.weight):
            from regard.fast.cuda.cost import ChunkedCost

            total, likelihood = ChunkedCost.apply(rows, self.weight, self.bias, targets, smoothing)
            return total, likelihood
        logits = self(rows)
        likelihood = nn.functional.cross_entropy(logits, targets, reduction="sum")
        if smoothing == 0:
            return likelihood, likelihood.detach()
        smooth = -(logits.mean(-1) - logits.logsumexp(-1)).sum()
        return (1 - smoothing) * likelihood + smoothing * smooth, likelihood.detach()

    def loss_of_some(self, rows: Tensor, targets: Tensor, *, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """`loss`, without the rows whose target is negative."""
        if torch.is_grad_enabled() and OUTPUTS(self) and on_cuda(rows, self.weight):
            return self.loss(rows, targets, smoothing=smoothing)
        real = targets >= 0
        return self.loss(rows[real], targets[real], smoothing=smoothing)


OUTPUTS = Replaces(Output, methods=("forward",))
"""The layers whose logits a fast path computes."""
