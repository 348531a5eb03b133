"""Paths: faster ways to compute a call of a module, as parts that can be taken away.

A module that can be computed faster asks for it, by the name of the call and with its arguments, and computes
plainly if nobody takes them:

    found = faster("decoder.unroll", self, memories, previous, packing)
    return self.unroll_plain(memories, previous, packing) if found is None else found

A path is a part of kind `path`. Ours are in a folder of their own; nothing else knows them, and without the folder
every call is computed plainly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard import parts
from regard.nn.replacing import off
from regard.parts import names, registry
from regard.parts.contract import base, optional, required


@base("path", maker="__new__")
class Path:
    """A faster way to compute one call, with the same results to rounding.

    To add one, derive from this class and write `takes` and `run`, which receive the arguments of the call. What the
    path replaces may have been changed, by a subclass or a hook: ask `Replaces` in `takes`.

    serves    the name of the call
    devices   the types of devices on which it runs
    rank      of several paths that take a call, the one with the lowest rank runs
    """

    class Options(parts.Options):
        """A path has no options."""

    serves: ClassVar[str] = ""
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    rank: ClassVar[int] = 0

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        return None if cls.serves else 'does not say which call it serves, as in serves = "decoder.unroll"'

    @required("at every call that it serves; must be quick")
    def takes(self, *given: Any, **more: Any) -> bool:
        """Whether the path computes this call: these modules, tensors and this device."""
        raise NotImplementedError

    @required("if it takes the call")
    def run(self, *given: Any, **more: Any) -> Any:
        """The result of the call, never None."""
        raise NotImplementedError

    @optional("by `regard describe --paths`")
    def why_not(self, *given: Any, **more: Any) -> str:
        """Why the path cannot compute this call on any of its devices, in a sentence; empty if it can."""
        return "" if self.takes(*given, **more) else "It does not take this call."


class _Known:
    """The paths by call, as of the parts that were registered when they were last collected."""

    parts: ClassVar[Any] = None
    count: ClassVar[int] = 0
    by_call: ClassVar[dict[str, tuple[Path, ...]]] = {}


def load() -> None:
    """Import our own paths, which must see the classes that they replace before anybody changes a method of them."""
    registry.load_own("path")


def paths(call: str) -> tuple[Path, ...]:
    """The paths that serve a call, in the order in which they are asked."""
    registered = registry.parts_of("path")
    if registered is not _Known.parts or len(registered) != _Known.count:
        if torch.compiler.is_compiling():
            return ()  # a compiler cannot trace the import of other packages
        _collect()
    return _Known.by_call.get(call, ())


def _collect() -> None:
    names("path")
    registered = registry.parts_of("path")
    by_call: dict[str, list[Path]] = {}
    for _, made in sorted(registered.items(), key=lambda one: (one[1].rank, one[0])):
        by_call.setdefault(made.serves, []).append(made())
    _Known.by_call = {call: tuple(found) for call, found in by_call.items()}
    _Known.parts, _Known.count = registered, len(registered)


class _Choice(threading.local):
    """The only path that a thread asks, if there is one."""

    only: type[Path] | None = None


_choice = _Choice()


@contextmanager
def only(made: type[Path]) -> Iterator[None]:
    """Ask this path alone, in this thread."""
    before, _choice.only = _choice.only, made
    try:
        yield
    finally:
        _choice.only = before


def computed(
    owner: nn.Module, function: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
) -> tuple[Tensor, ...]:
    """function(*inputs), which depends on nothing but its inputs, the weights and plain attributes of the owner, and so
    may be repeated without Python."""
    found: tuple[Tensor, ...] | None = faster("function", owner, function, *inputs)
    return function(*inputs) if found is None else found


def faster(call: str, *given: Any, **more: Any) -> Any:
    """The result of a call, computed by the first path that takes it; None if no path does."""
    if off():
        return None
    for path in paths(call):
        if path.takes(*given, **more):
            if not torch.compiler.is_compiling() and _choice.only not in (None, type(path)):
                continue
            return path.run(*given, **more)
    return None
