"""Trade time for memory: recompute results in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def recomputed(function: Callable[..., Any], *inputs: Tensor) -> Any:
    """function(*inputs), keeping only the inputs for the backward pass, also for derivatives of any order.

    The function must be deterministic, and differentiable in its inputs only.
    """
    return _Recomputed.apply(function, *inputs)


class _Recomputed(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(function: Callable[..., Any], *inputs: Tensor) -> Any:
        return function(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.function, *tensors = inputs
        ctx.several = isinstance(output, tuple)
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        function, several, count = ctx.function, ctx.several, len(gradients)

        def pull_back(*both: Tensor) -> Any:
            cotangent = both[:count] if several else both[0]
            return torch.func.vjp(function, *both[count:])[1](cotangent)

        return None, *_Recomputed.apply(pull_back, *gradients, *ctx.saved_tensors)
