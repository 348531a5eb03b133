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
from dataclasses import dataclass
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
        """The result of the call; None if it turns out that the path cannot compute it."""
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


class _Asked(threading.local):
    """What answers the calls of a thread instead of the paths, if something does."""

    instead: Callable[[str, tuple[Any, ...], dict[str, Any]], Any] | None = None


_asked = _Asked()


@contextmanager
def _answering(answer: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]) -> Iterator[None]:
    before, _asked.instead = _asked.instead, answer
    try:
        yield
    finally:
        _asked.instead = before


@contextmanager
def only(made: type[Path]) -> Iterator[None]:
    """Ask this path alone, in this thread."""

    def answer(call: str, given: tuple[Any, ...], more: dict[str, Any]) -> Any:
        for path in paths(call):
            if type(path) is made and path.takes(*given, **more):
                return path.run(*given, **more)
        return None

    with _answering(answer):
        yield


@dataclass(frozen=True)
class Asked:
    """A call that a module asked paths for.

    refused   for every path that serves the call, its name and why it cannot compute it; empty if it can
    """

    call: str
    refused: tuple[tuple[str, str], ...]

    def serving(self, device: str) -> list[str]:
        """The paths that can compute the call on a type of device, in the order in which they are asked."""
        made = registry.parts_of("path")
        return [name for name, reason in self.refused if not reason and device in made[name].devices]


@contextmanager
def asking() -> Iterator[dict[Asked, None]]:
    """Compute everything plainly in this thread, and collect for which calls paths are asked, each once."""
    seen: dict[Asked, None] = {}

    def answer(call: str, given: tuple[Any, ...], more: dict[str, Any]) -> None:
        reasons = ((type(path).Options.type, path.why_not(*given, **more)) for path in paths(call))
        seen[Asked(call, tuple(reasons))] = None

    with _answering(answer):
        yield seen


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
    if not torch.compiler.is_compiling() and _asked.instead is not None:
        return _asked.instead(call, given, more)
    for path in paths(call):
        if path.takes(*given, **more):
            found = path.run(*given, **more)
            if found is not None:
                return found
    return None
