"""Helpers for the autograd functions of all kernels: a cached signature, a guard, and a vmap rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.private import transforms_active

Forward = TypeVar("Forward", bound=Callable[..., Any])


def signed(forward: Forward) -> Forward:
    """Cache the signature of a `forward`: torch's lookup at every call costs more than a small kernel."""
    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    return forward


def once(backward: Forward) -> Forward:
    """Mark a backward pass as not differentiable: it raises an error if its result is to be differentiated
    (`create_graph=True`).

    torch's `once_differentiable` raises it later, and not at all in `torch.autograd.grad`, which visits only
    what lies between a result and the inputs: a second derivative would lack this one without an error.
    """
    guarded = once_differentiable(backward)

    @wraps(backward)
    def either(ctx: Any, *gradients: Tensor | None) -> Any:
        if not torch.is_grad_enabled():
            return backward(ctx, *gradients)
        if transforms_active():
            return guarded(ctx, *gradients)
        raise RuntimeError(
            "This gradient comes from a kernel and cannot be differentiated again (create_graph=True). Compute "
            'in plain torch operations instead: with backend="reference" for a structure, and inside '
            "`with regard.structures.kernels.plainly():` for a layer."
        )

    return either  # type: ignore[return-value]


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
