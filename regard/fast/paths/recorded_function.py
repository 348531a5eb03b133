"""A function of tensors in training on CUDA, captured as a graph with its gradient."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from regard.fast.paths.recorded import NOT_RECORDABLE
from regard.fast.recording.recordable import recordable
from regard.fast.recording.replayed_gradient import replayed
from regard.nn.path import Path
from regard.parts import register


@register("path", "recorded-function")
class RecordedFunction(Path):
    """Thousands of small kernels in training on CUDA, captured as one graph, forward and backward."""

    serves = "function"
    devices = ("cuda",)
    rank = 20

    def takes(
        self, owner: nn.Module, function: Callable[..., tuple[Tensor, ...]], first: Tensor, *others: Tensor
    ) -> bool:
        return first.is_cuda and torch.is_grad_enabled()

    def why_not(
        self, owner: nn.Module, function: Callable[..., tuple[Tensor, ...]], first: Tensor, *others: Tensor
    ) -> str:
        return "" if recordable(owner) else NOT_RECORDABLE

    def run(
        self, owner: nn.Module, function: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        return replayed(owner, function, *inputs)
