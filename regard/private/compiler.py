"""torch's optimizers without torch's compiler, which they would load.

To load the compiler (`torch._dynamo`) takes two seconds of every start. An optimizer loads it only to tell it
which code it must leave alone. As long as nobody has loaded it, no code is being compiled, and there is
nothing to tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._compile import _disable_dynamo
from torch.optim import SGD, Optimizer

from regard.private.feature import Feature, expect
from regard.private.observers import step_hooks

_COST = "training starts two seconds later"
_NAME = "__dynamo_disable"
_LEFT_ALONE = ("add_param_group", "state_dict", "load_state_dict", "zero_grad")


def _loaded() -> bool:
    return "torch._dynamo" in sys.modules


def _until_loaded(wrapper: Any) -> None:
    """Let a function that torch wraps for the compiler run directly until the compiler is loaded."""
    inside = wrapper.__wrapped__

    def direct(*arguments: Any, **options: Any) -> Any:
        if not _loaded():
            return inside(*arguments, **options)
        if vars(inside).get(_NAME) is direct:
            delattr(inside, _NAME)
        return wrapper(*arguments, **options)

    if _NAME not in vars(inside):
        setattr(inside, _NAME, direct)


def _try_left_alone() -> Any:
    loaded = _loaded()

    def doubled(x: int) -> int:
        return 2 * x

    wrapper: Any = _disable_dynamo(doubled)
    _until_loaded(wrapper)
    expect(wrapper(3) == 6 and (loaded or not _loaded()), "a function that the compiler leaves alone")
    return _until_loaded


@cache
def _own_step(kind: type[Optimizer]) -> Callable[[Optimizer], Any] | None:
    """The step of an optimizer of torch, without its wrappers for the compiler and the profiler."""
    wrapped: Any = getattr(kind.step, "__wrapped__", None)
    code = getattr(wrapped, "__code__", None)
    if code is None or code.co_name != "_use_grad" or not kind.__module__.startswith("torch.optim."):
        return None
    own: Callable[[Optimizer], Any] = wrapped.__wrapped__
    return own


def _try_step() -> Any:
    loaded = _loaded()
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.tensor([1.0, 2.0])
    postpone_compiler()
    optimizer = SGD([weight], 0.5)
    with torch.no_grad():
        own = _own_step(SGD)
        expect(own is not None, "the wrappers of a step")
        assert own is not None
        own(optimizer)
    expect(torch.equal(weight, torch.tensor([0.5, 0.0])) and (loaded or not _loaded()), "a step")
    return _own_step


_left_alone = Feature("torch's functions that its compiler leaves alone", _COST, _try_left_alone)
_step = Feature("the steps of torch's optimizers without their wrappers", _COST, _try_step)


def postpone_compiler() -> None:
    """Let optimizers be made, saved and loaded without loading the compiler."""
    if _loaded() or (until_loaded := _left_alone.get()) is None:
        return
    for name in _LEFT_ALONE:
        if hasattr(wrapper := getattr(Optimizer, name), "__wrapped__"):
            until_loaded(wrapper)


def take_step(optimizer: Optimizer) -> None:
    """`optimizer.step()`. Once the compiler is loaded, or if hooks or a profiler watch the optimizer, just that."""
    watched = (
        "step" in vars(optimizer) or step_hooks(optimizer) or torch.autograd.profiler._is_profiler_enabled
    )
    own = None
    if not (watched or _loaded() or optimizer.defaults.get("differentiable")):
        found = _step.get()
        own = None if found is None else found(type(optimizer))
    if own is None:
        optimizer.step()
    else:
        with torch.no_grad():
            own(optimizer)
