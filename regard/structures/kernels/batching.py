"""torch.func.vmap over kernels that already take a batch: the mapped axis joins the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor


def join_batch(
    function: Callable[..., Any], size: int, in_dims: Sequence[int | None], arguments: Sequence[Any]
) -> tuple[Any, Any]:
    """The `vmap` rule of an autograd.Function whose tensors, in and out, all begin with the batch axis."""
    joined = []
    for argument, dim in zip(arguments, in_dims, strict=True):
        if isinstance(argument, Tensor):
            front = argument.expand(size, *argument.shape) if dim is None else argument.movedim(dim, 0)
            joined.append(front.flatten(0, 1))
        else:
            joined.append(argument)
    results = function(*joined)
    if isinstance(results, Tensor):
        return results.unflatten(0, (size, -1)), 0
    return tuple(result.unflatten(0, (size, -1)) for result in results), (0,) * len(results)
