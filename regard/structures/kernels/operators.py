"""Kernels as operators of torch, for compilers, tracers, export and vmap: one operation with known shapes.

In eager mode the kernels are called directly, because the call of an operator takes longer than a small kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.private import apply, eager, traced
from regard.structures.kernels.batching import join_batch


def operator(name: str, schema: str, kernel: Callable[..., Any], shapes: Callable[..., Any]) -> Any:
    """The operator `torch.ops.regard.<name>`, without a gradient. All tensors begin with the batch axis.

    schema   its arguments and results: "(Tensor arcs, bool single_root) -> Tensor"
    shapes   returns empty results for the same arguments
    """
    made = torch.library.custom_op(f"regard::{name}", kernel, mutates_args=(), schema=schema)
    made.register_fake(shapes)
    made.register_vmap(lambda info, in_dims, *given: join_batch(made, info.batch_size, in_dims, given))
    return made


def through_cpu(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """The results of a kernel of the CPU, on the device of the first tensor."""
    given = [one.cpu() if isinstance(one, Tensor) else one for one in arguments]
    device = next(one.device for one in arguments if isinstance(one, Tensor))
    return tuple(one.to(device) for one in kernel(*given))


def seen_whole(name: str, schema: str, shapes: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a kernel without a gradient: to compilers, tracers and transforms it is the operator `name`."""

    def decorate(kernel: Callable[..., Any]) -> Any:
        made = operator(name, schema, kernel, shapes)

        def either(*arguments: Any) -> Any:
            direct = not torch.compiler.is_compiling() and eager()
            return (kernel if direct else made)(*arguments)

        return either

    return decorate


def differentiable(name: str, schema: str, function: Any, shapes: Callable[..., Any]) -> Callable[..., Any]:
    """The call of an autograd.Function: to compilers and tracers it is the operator `name`."""
    made = operator(name, schema, function.forward, shapes)
    made.register_autograd(function.backward, setup_context=function.setup_context)

    def either(*arguments: Any) -> Any:
        if torch.compiler.is_compiling() or traced():
            return made(*arguments)
        return apply(function, *arguments)

    return either
