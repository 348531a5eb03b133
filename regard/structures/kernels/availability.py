"""What kernels support: which tensors, and one derivative. Callers use the plain torch code for all others."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from itertools import count
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.private import eager, recorded, traced, transforms_active, triton_works

Backward = TypeVar("Backward", bound=Callable[..., Any])
_ON_CPU = frozenset({"chain", "chain_mode", "segments", "projective", "projective_mode"})
_ON_CUDA = frozenset({"chain", "segments", "projective"})
_THROUGH_CPU = frozenset({"chain_mode", "projective_mode"})
FEW = 4
"""Up to this many sequences are predicted without loading numba."""
OFTEN = 400
"""Questions whether to load it for a few sequences, about ten for each prediction, after which it is loaded."""
_WIDEST_CHAIN_ON_CUDA = 128  # states: a C × C tile must fit into registers


class _Switch(threading.local):
    """Number of open `plainly` contexts of a thread."""

    open = 0


_switch = _Switch()


@contextmanager
def plainly() -> Iterator[None]:
    """Use plain torch code instead of kernels in this thread, for work that takes less time than compiling them."""
    _switch.open += 1
    try:
        yield
    finally:
        _switch.open -= 1


def _plain() -> bool:
    # a compiler cannot trace what belongs to a thread; to it a kernel is one operator
    return not torch.compiler.is_compiling() and _switch.open > 0


_NUMBA = find_spec("numba") is not None  # a constant, because a compiler cannot trace the search for a module


def available(name: str, tensor: Tensor) -> bool:
    """Whether the kernel `name` of a structure supports this tensor, its potential with the most axes (edges,
    transitions, arcs).

    name   "chain" or "projective" (log_partition and marginals), "segments" (marginals), "chain_mode" or
           "projective_mode"
    """
    if _plain() or tensor.dtype not in (torch.float32, torch.float64) or tensor.numel() == 0:
        return False
    if tensor.device.type == "cpu":
        return name in _ON_CPU and _NUMBA and _seen_whole()
    if tensor.device.type == "cuda":
        if name in _THROUGH_CPU:  # slower than plain code, whose gradients an exported program cannot hold
            return _NUMBA and recorded()
        fits = name != "chain" or tensor.shape[-1] <= _WIDEST_CHAIN_ON_CUDA
        return fits and name in _ON_CUDA and _seen_whole() and _has_triton()
    return False


def _seen_whole() -> bool:
    """Whether the result of a kernel reaches everyone who needs it: in eager mode, or, under a compiler or
    tracer, because the kernel is one operator to them. A transform of `torch.func` needs plain operations."""
    return torch.compiler.is_compiling() or traced() or eager()


def _has_triton() -> bool:
    # Under a compiler the operator is only recorded; it finds out when it runs.
    return torch.compiler.is_compiling() or triton_works()


def triton_takes(tensor: Tensor) -> bool:
    """Whether kernels in Triton may be launched on this tensor."""
    return tensor.is_cuda and not _plain() and eager() and triton_works()


def within_reach(*tensors: Tensor, rows: int) -> bool:
    """Whether the recurrence kernels support these tensors: all on the CPU, in one precision (single or
    double), with neither autocast, a compiler nor a transform active.

    rows   number of sequences: loading numba takes longer than predicting a few of them
    """
    kinds = {(tensor.device.type, tensor.dtype) for tensor in tensors}
    return (
        not _plain()
        and kinds in ({("cpu", torch.float32)}, {("cpu", torch.float64)})
        and _NUMBA
        and eager()
        and worth_loading(rows > FEW)
        and not torch.is_autocast_enabled("cpu")
    )


_asked = count()
"""How often a little was to be computed before numba was loaded."""


def worth_loading(much: bool) -> bool:
    """Whether to use numba: it is loaded already, there is much to compute, or little for the `OFTEN`th time, or
    gradients are enabled."""
    return much or "numba" in sys.modules or torch.is_grad_enabled() or next(_asked) >= OFTEN


def once(backward: Backward) -> Backward:
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
