"""The hooks of torch's modules and optimizers, which a fast path would not call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from regard.private.feature import Feature, expect

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
    return names


_COST = (
    "fast paths, which would not call hooks, are off, and training and prediction are several times slower"
)
_hooks = Feature("torch's hooks of modules", _COST, _try_hooks)
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
    """Whether hooks watch the steps of an optimizer; True if that is unknown."""
    names = _step_hooks.get()
    return True if names is None else any(vars(optimizer).get(name) for name in names)
