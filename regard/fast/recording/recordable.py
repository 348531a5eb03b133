"""Whether calls of a module may be recorded, and replayed without Python."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

from regard.nn.path import CALLS, methods_of, off
from regard.private import global_hooks, hooks_of

PARAMETRIZED = nn.utils.parametrize.ParametrizationList.__module__
"""The module of the classes that `torch.nn.utils.parametrize` makes."""
PLAIN = frozenset({int, float, str, bool, type(None)})


def recordable(owner: nn.Module) -> bool:
    """Whether calls of a module may be replayed without Python.

    The modules inside must be regard's or torch's, with neither hooks nor replaced methods. The code of others may
    depend on more than weights and inputs; a class that does not says so with `recordable = True`.
    """
    return state_of(owner) is not None


def state_of(owner: nn.Module) -> Hashable | None:
    """What a recording of a module depends on beside its weights: the modules inside and their plain attributes.
    None if its calls must not be recorded."""
    if off() or any(global_hooks()):
        return None
    watch = _watch(owner)
    if not watch.fine or any(watch.hooks):
        return None
    return (watch.number, *[own[name] for own, name in watch.plain])


def _watch(owner: nn.Module) -> _Watch:
    known = _WATCHES.get(owner)
    if known is None or known.changed(owner):
        known = _WATCHES[owner] = _Watch(owner, 0 if known is None else known.number + 1)
    return known


class _Watch:
    """The modules of an owner as they were when they were last checked. Checking them all is slow, so that only
    what would show a change is compared. Holds no reference to the owner, whose life it must not prolong."""

    def __init__(self, owner: nn.Module, number: int) -> None:
        modules, self.number = list(owner.modules()), number
        self.inside = modules[1:]
        self.kinds = [type(one) for one in modules]
        self.attributes = [vars(one) for one in modules]
        self.counts = [len(one) for one in self.attributes]
        self.children = [(one._modules, tuple(one._modules.values())) for one in modules]
        self.hooks = [hooks for one in self.attributes for hooks in hooks_of(one)]
        self.plain = [
            (own, name) for own in self.attributes for name, value in own.items() if type(value) in PLAIN
        ]
        self.fine = all(map(_as_built, modules))

    def changed(self, owner: nn.Module) -> bool:
        return (
            [len(one) for one in self.attributes] != self.counts
            or [type(owner), *map(type, self.inside)] != self.kinds
            or any(tuple(now.values()) != then for now, then in self.children)
            or any(type(own[name]) not in PLAIN for own, name in self.plain)
        )


_WATCHES: WeakKeyDictionary[nn.Module, _Watch] = WeakKeyDictionary()


def _as_built(module: nn.Module) -> bool:
    shadowed = vars(module).keys() & {*methods_of(type(module)), *CALLS}
    return not shadowed and trusted(type(module))


def trusted(kind: type[Any]) -> bool:
    """Whether a class is regard's or torch's, or declares `recordable`."""
    for one in kind.__mro__:
        if one.__module__ == PARAMETRIZED:  # made of the class after it
            continue
        if one.__module__.partition(".")[0] in ("regard", "torch"):
            return True
        return bool(vars(one).get("recordable", False))
    return False
