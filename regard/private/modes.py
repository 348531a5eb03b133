"""Whether operations run now and as they are written, which kernels outside torch require.

A kernel reads and writes memory by address. A compiler, a tracer, a transform of `torch.func` or forward-mode
differentiation sees none of that, so its result would be wrong without an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

from regard.private.feature import Feature, expect

_COST = "structures and recurrences run in plain torch operations, several times slower"


def _try_transforms() -> Any:
    active: Callable[[], bool] = torch._C._are_functorch_transforms_active
    levels = torch._C._functorch  # `torch.func.grad` would load torch's compiler, which takes a second
    levels._grad_increment_nesting()
    try:
        inside = active()
    finally:
        levels._grad_decrement_nesting()
    expect(inside is True and active() is False, "active transforms")
    return active


def _try_modes() -> Any:
    count: Callable[[], int] = torch._C._len_torch_dispatch_stack

    class Mode(TorchDispatchMode):
        pass

    with Mode():
        inside = count()
    expect(inside == 1 and count() == 0, "number of modes")
    return count


def _try_forward() -> Any:
    def active() -> bool:
        return bool(forward_ad._current_level >= 0)

    if active():  # one level for all threads, and none inside another: this use is the trial
        return active
    with forward_ad.dual_level():
        inside = active()
    expect(inside and not active(), "forward-mode level")
    return active


_transforms = Feature("torch's list of active transforms", _COST, _try_transforms)
_modes = Feature("torch's list of active dispatch modes", _COST, _try_modes)
_forward = Feature("torch's level of forward-mode differentiation", _COST, _try_forward)


def transforms_active() -> bool:
    """Whether a transform of `torch.func` is active; True if that cannot be determined."""
    active = _transforms.get()
    return True if active is None else active()


def traced() -> bool:
    """Whether a compiler, a tracer or a dispatch mode sees operations instead of their results."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return True
    count = _modes.get()
    return True if count is None else count() > 0


def recorded() -> bool:
    """Whether `torch.export` or `torch.jit.trace` records a program from an example. Python code that depends on
    the numbers of the example would be wrong in it. (`torch.compile` runs such code each time.)"""
    if torch.compiler.is_compiling():
        # not `is_exporting()`, which is always True to the compiler of torch 2.11; torch 2.6 has no flag
        exporting = bool(getattr(torch.compiler, "_is_exporting_flag", False))
        return exporting or not torch.compiler.is_dynamo_compiling()
    return torch.jit.is_tracing()  # type: ignore[attr-defined, no-any-return]


def eager() -> bool:
    """Whether operations run now, on numbers, without a compiler, tracer, transform or dual numbers."""
    if torch.compiler.is_compiling() or traced() or transforms_active():
        return False
    forward = _forward.get()
    return False if forward is None else not forward()
