"""Whether a fast path computes what an object does.

A fast path replaces methods of some classes: a kernel for `GRUCell` runs instead of its `advance`. An object may
compute something else: its class overrides a method, the method was replaced on the object or on the class, a
hook watches its calls, or a layer inside it was exchanged. Every fast path therefore declares what it replaces and
asks before it runs:

    CELLS = Replaces(GRUCell, LSTMCell)           when the path is imported
    if CELLS.kind(cell) is not None: …            for each object

A recording replays calls without Python; whether it may is a question of its own (`recordable = True`).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import nn

from regard.private import hooked


class _Switch(threading.local):
    """Number of open `without_fast_paths` contexts of a thread."""

    open = 0


_switch = _Switch()

CALLS = ("forward", "__call__", "__getattr__", "__getattribute__")
"""Names that decide what a call of any module does."""
BUILDING = frozenset({"__init__", "__new__", "extra_repr", "__repr__", "__getstate__", "__setstate__"})


@contextmanager
def without_fast_paths() -> Iterator[None]:
    """Compute with the parts' own methods alone, in this thread: nothing is replaced, and nothing is recorded."""
    _switch.open += 1
    try:
        yield
    finally:
        _switch.open -= 1


def off() -> bool:
    """Whether fast paths are off in this thread."""
    return not torch.compiler.is_compiling() and _switch.open > 0


class Replaces:
    """Which objects compute exactly as one of these classes.

    kinds     the classes whose methods a path replaces
    methods   names of the replaced methods; default: all methods of the class. Overriding another method does not
              concern the path
    children  whether the path also replaces the calls of the modules inside, which must then be simple layers of
              torch
    """

    def __init__(
        self, *kinds: type[Any], methods: Collection[str] | None = None, children: bool = True
    ) -> None:
        # kept now, so that a method that is replaced on the class later is noticed
        self.known = {kind: _resolved(kind, methods) for kind in kinds}
        self.children = children and methods is None

    def kind(self, thing: Any) -> type[Any] | None:
        """The class that the object computes as; None if the path must not replace it."""
        if off():
            return None
        here = type(thing)
        for kind in here.__mro__:
            if kind in self.known:
                break
        else:
            return None
        known = self.known[kind]
        for name, method in known.items():
            if getattr(here, name) is not method:
                return None
        if torch.compiler.is_compiling():  # a compiler cannot trace the rest
            return kind
        own = vars(thing)
        if not own.keys().isdisjoint(known) or hooked(own):
            return None
        return kind if not self.children or _simple_inside(own) else None

    def __call__(self, *things: Any) -> bool:
        """Whether all objects compute as one of the classes; None counts as such."""
        for thing in things:
            if thing is not None and self.kind(thing) is None:
                return False
        return not off()


def _resolved(kind: type[Any], methods: Collection[str] | None) -> dict[str, Any]:
    """The methods of a class by name."""
    if methods is None:
        methods = [*methods_of(kind), *(CALLS if issubclass(kind, nn.Module) else ())]
    return {name: getattr(kind, name) for name in methods}


def methods_of(kind: type[Any]) -> frozenset[str]:
    """The names of the methods and properties of a class, without those of `nn.Module`."""
    found = (one for one in kind.__mro__ if one not in (object, nn.Module))
    return frozenset(
        name
        for one in found
        for name, value in vars(one).items()
        if (callable(value) or isinstance(value, property | staticmethod | cached_property))
        and not isinstance(value, type)
        and name not in BUILDING
    )


LAYERS = Replaces(nn.Linear, nn.Dropout, nn.Identity, nn.ModuleList, nn.ModuleDict)
"""Layers of torch whose weights a path may use without calling them."""


def _simple_inside(own: Mapping[str, Any]) -> bool:
    for name, child in own.get("_modules", {}).items():
        # a parametrization computes a weight, which a path reads as any other
        if child is not None and name != "parametrizations" and LAYERS.kind(child) is None:
            return False
    return True
