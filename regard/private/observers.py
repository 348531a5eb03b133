"""Who watches or changes a computation: hooks, compilers, tracers, transforms, dispatch modes and dual numbers.

A fast path does not call modules, so that their hooks would miss it. A kernel reads and writes memory by address. A
compiler, a tracer, a transform of `torch.func` or forward-mode differentiation sees none of that, so its result would
be wrong without an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.optim import optimizer as of_all
from torch.utils._python_dispatch import TorchDispatchMode

from regard.private.feature import Feature, expect

_WITHOUT_KERNELS = "structures and recurrences run in plain torch operations, several times slower"


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


_transforms = Feature("torch's list of active transforms", _WITHOUT_KERNELS, _try_transforms)
_modes = Feature("torch's list of active dispatch modes", _WITHOUT_KERNELS, _try_modes)
_forward = Feature("torch's level of forward-mode differentiation", _WITHOUT_KERNELS, _try_forward)


_jit: Any = torch.jit


def transforms_active() -> bool:
    """Whether a transform of `torch.func` is active; True if that cannot be determined."""
    active = _transforms.get()
    return True if active is None else active()


def traced() -> bool:
    """Whether a compiler, a tracer or a dispatch mode sees operations instead of their results."""
    if torch.compiler.is_compiling() or bool(_jit.is_tracing()):
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
    return bool(_jit.is_tracing())


def eager() -> bool:
    """Whether operations run now, on numbers, without a compiler, tracer, transform or dual numbers."""
    if torch.compiler.is_compiling() or traced() or transforms_active():
        return False
    forward = _forward.get()
    return False if forward is None else not forward()


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_global_hooks = tuple(getattr(nn.modules.module, f"_global{name}", {}) for name in _HOOKS)


def _try_hooks() -> Any:
    module = nn.Identity()
    for name in _HOOKS:
        expect(vars(module)[name] == {}, name)
        expect(isinstance(getattr(nn.modules.module, f"_global{name}"), dict), f"_global{name}")
    for register in (module.register_forward_hook, module.register_forward_pre_hook):
        register(lambda *given: None)
    module.register_full_backward_hook(lambda *given: None)
    module.register_full_backward_pre_hook(lambda *given: None)
    expect(all(len(vars(module)[name]) == 1 for name in _HOOKS), "the hooks of a module")
    return _HOOKS


def _try_step_hooks() -> Any:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)
    optimizer.register_step_pre_hook(lambda *given: None)
    optimizer.register_step_post_hook(lambda *given: None)
    names = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
    expect(all(len(vars(optimizer)[name]) == 1 for name in names), "the hooks of an optimizer")
    everywhere = (of_all._global_optimizer_pre_hooks, of_all._global_optimizer_post_hooks)
    before = [len(hooks) for hooks in everywhere]
    handles = [
        of_all.register_optimizer_step_pre_hook(lambda *given: None),
        of_all.register_optimizer_step_post_hook(lambda *given: None),
    ]
    expect([len(hooks) for hooks in everywhere] == [count + 1 for count in before], "hooks of all optimizers")
    for handle in handles:
        handle.remove()
    return names, everywhere


_WITHOUT_HOOKS = (
    "fast paths, which would not call hooks, are off, and training and prediction are several times slower"
)
_hooks = Feature("torch's hooks of modules", _WITHOUT_HOOKS, _try_hooks)
_step_hooks = Feature("torch's hooks of optimizers", "optimizer steps take more launches", _try_step_hooks)


def hooks_of(own: Mapping[str, Any]) -> list[Mapping[Any, Any]]:
    """The hooks of a module with these attributes, by kind; later ones appear in the same mappings."""
    return [own.get(name, {}) for name in _HOOKS]


def hooked(own: Mapping[str, Any]) -> bool:
    """Whether hooks watch or change the calls of a module with these attributes; True if that is unknown."""
    if _hooks.get() is None:
        return True
    for name in _HOOKS:
        if own.get(name):
            return True
    return any(_global_hooks)


def global_hooks() -> Sequence[Mapping[Any, Any]]:
    """The hooks of all modules, by kind."""
    return _global_hooks


def step_hooks(optimizer: torch.optim.Optimizer) -> bool:
    """Whether hooks, its own or those of all optimizers, watch the steps of an optimizer; True if that is unknown."""
    found = _step_hooks.get()
    if found is None:
        return True
    names, everywhere = found
    return any(vars(optimizer).get(name) for name in names) or any(everywhere)
