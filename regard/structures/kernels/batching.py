"""Helpers for the autograd functions of all kernels: a cached signature and a vmap rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from torch import Tensor

Forward = TypeVar("Forward", bound=Callable[..., Any])


def signed(forward: Forward) -> Forward:
    """Cache the signature of a `forward`: torch's lookup at every call costs more than a small kernel."""
    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    return forward


def join_batch(
    function: Callable[..., Any], size: int, in_dims: Sequence[int | None], arguments: Sequence[Any]
) -> tuple[Any, Any]:
    """Rule for `torch.func.vmap`: the mapped axis joins the batch.

    All input and output tensors of the autograd.Function must begin with the batch axis.
    """
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
