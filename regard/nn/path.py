"""Paths: faster ways to compute a call of a module, as parts that can be taken away.

A module that can be computed faster asks for it, by the name of the call, its device and its arguments, and
computes plainly if nobody takes them:

    found = faster("decoder.unroll", previous.device, self, memories, previous, packing)
    return self.unroll_plain(memories, previous, packing) if found is None else found

A path is a part of kind `path`. Ours are in a folder of their own; nothing else knows them, and without the folder
every call is computed plainly.

A path replaces methods of some classes: a kernel for `GRUCell` runs instead of its `advance`. An object may compute
something else: its class overrides a method, the method was replaced on the object or on the class, a hook watches
its calls, or a layer inside it was exchanged. Every path therefore declares what it replaces and asks before it runs:

    CELLS = Replaces(GRUCell, LSTMCell)           when the path is imported
    if CELLS.kind(cell) is not None: …            for each object

A recording replays calls without Python; whether it may is a question of its own (`recordable = True`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, is_
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard import parts
from regard.nn.portable import portable
from regard.parts import registry
from regard.parts.contract import base, optional, required
from regard.parts.definition import as_defined, attributes
from regard.private import hooked


@base("path", maker="__new__")
class Path:
    """A faster way to compute one call, with the same results to rounding.

    To add one, derive from this class and write `takes` and `run`, which receive the arguments of the call. What the
    path replaces may have been changed, by a subclass or a hook: ask `Replaces` in `takes`.

    serves    the name of the call
    devices   the types of devices on which it runs; on others it is not asked
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

    @classmethod
    @optional("by `regard doctor`")
    def machine_lacks(cls) -> str:
        """What a machine with such a device lacks for the path, whatever the model, in a sentence; empty if nothing."""
        return ""


class _Known:
    """The paths of the calls that were asked for, as of the parts that were registered then.

    made   one object of each path
    """

    parts: ClassVar[Any] = None
    count: ClassVar[int] = 0
    by_call: ClassVar[dict[tuple[str, str | None], tuple[Path, ...]]] = {}
    made: ClassVar[dict[type[Path], Path]] = {}


def paths(call: str, device: str | None = None) -> tuple[Path, ...]:
    """The paths that serve a call on a type of device, or on any, in the order in which they are asked."""
    registered = registry.PARTS["path"]
    changed = registered is not _Known.parts or len(registered) != _Known.count
    found = None if changed else _Known.by_call.get((call, device))
    if found is None:
        if torch.compiler.is_compiling():
            return ()  # a compiler cannot trace the import of other packages
        found = _collect(call, device)
    return found


def _collect(call: str, device: str | None) -> tuple[Path, ...]:
    """Import the paths of a call, but not those of other calls and devices."""
    registry.load_installed()
    registry.load_saying("path", lambda text: _says(text, call, device))
    registered = registry.PARTS["path"]
    if registered is not _Known.parts or len(registered) != _Known.count:
        _Known.by_call = {}
        _Known.parts, _Known.count = registered, len(registered)
    found = []
    for _, made in sorted(registered.items(), key=lambda one: (one[1].rank, one[0])):
        if made.serves == call and (device is None or device in made.devices):
            found.append(_Known.made.setdefault(made, made()))
    _Known.by_call[call, device] = tuple(found)
    return _Known.by_call[call, device]


def _says(text: str, call: str, device: str | None) -> bool:
    """Whether the source of a path says that it serves a call on a device."""
    devices = re.search(r"^    devices = (.+)$", text, re.MULTILINE)
    fits = device is None or devices is None or f'"{device}"' in devices[1]
    return fits and f'serves = "{call}"' in text


Answer = Callable[[str, torch.device, tuple[Any, ...], dict[str, Any]], Any]


class _Asked(threading.local):
    """What answers the calls of a thread instead of the paths, if something does."""

    instead: Answer | None = None


_asked = _Asked()


def asked_for() -> bool:
    """Whether calls are collected, or one path is tried, in this thread."""
    return _asked.instead is not None


@contextmanager
def _answering(answer: Answer) -> Iterator[None]:
    before, _asked.instead = _asked.instead, answer
    try:
        yield
    finally:
        _asked.instead = before


@contextmanager
def only(made: type[Path]) -> Iterator[None]:
    """Ask this path alone, in this thread."""

    def answer(call: str, device: torch.device, given: tuple[Any, ...], more: dict[str, Any]) -> Any:
        for path in paths(call, device.type):
            if type(path) is made and path.takes(*given, **more):
                return path.run(*given, **more)
        return None

    with _answering(answer):
        yield


@dataclass(frozen=True)
class PathCall:
    """A call that a module asked paths for.

    refused   for every path that serves the call, its name and why it cannot compute it; empty if it can
    """

    call: str
    refused: tuple[tuple[str, str], ...]

    def serving(self, device: str) -> list[str]:
        """The paths that can compute the call on a type of device, in the order in which they are asked."""
        made = registry.PARTS["path"]
        return [name for name, reason in self.refused if not reason and device in made[name].devices]


@contextmanager
def asking() -> Iterator[dict[PathCall, None]]:
    """Compute everything plainly in this thread, and collect for which calls paths are asked, each once."""
    seen: dict[PathCall, None] = {}

    def answer(call: str, device: torch.device, given: tuple[Any, ...], more: dict[str, Any]) -> None:
        reasons = ((type(path).Options.type, path.why_not(*given, **more)) for path in paths(call))
        seen[PathCall(call, tuple(reasons))] = None

    with _answering(answer):
        yield seen


def computed(
    owner: nn.Module, function: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
) -> tuple[Tensor, ...]:
    """function(*inputs), which depends on nothing but its inputs, the weights and plain attributes of the owner, and so
    may be repeated without Python."""
    found: tuple[Tensor, ...] | None = faster("function", inputs[0].device, owner, function, *inputs)
    return function(*inputs) if found is None else found


def faster(call: str, device: torch.device, *given: Any, **more: Any) -> Any:
    """The result of a call on a device, computed by the first path that takes it; None if no path does."""
    if off():
        return None
    if torch.compiler.is_compiling():
        return _first(call, device, given, more)
    if _asked.instead is not None:
        return _asked.instead(call, device, given, more)
    if _switch.kinds is not None:
        return _first(call, device, given, more)
    _switch.kinds = {}
    try:
        return _first(call, device, given, more)
    finally:
        _switch.kinds = None


def _first(call: str, device: torch.device, given: tuple[Any, ...], more: dict[str, Any]) -> Any:
    for path in paths(call, device.type):
        if path.takes(*given, **more):
            found = path.run(*given, **more)
            if found is not None:
                return found
    return None


def once_a_call(find: Callable[..., Any], *things: Any) -> Any:
    """find(*things), found once for each outermost call of `faster`: what changes the things during that call counts
    from the next one on."""
    kept = _switch.kinds
    if kept is None or torch.compiler.is_compiling():
        return find(*things)
    key = (find, _switch.open, _switch.plain, *map(id, things))
    if key not in kept:
        kept[key] = things, find(*things)
    return kept[key][1]


class _Switch(threading.local):
    """Number of open `without_fast_paths` contexts of a thread, and the objects that compute plainly in it. kinds: what
    was found about objects during the outermost call of `faster`, with the objects, so that they live on."""

    open = 0
    plain: frozenset[int] = frozenset()
    kinds: dict[tuple[Any, ...], tuple[Any, Any]] | None = None


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


@contextmanager
def plainly(things: Iterable[Any]) -> Iterator[None]:
    """Compute these objects with their own methods, in this thread; everything else stays fast."""
    before = _switch.plain
    _switch.plain = before | frozenset(map(id, things))
    try:
        yield
    finally:
        _switch.plain = before


def off() -> bool:
    """Whether fast paths are off in this thread."""
    return portable() if torch.compiler.is_compiling() else _switch.open > 0


class Replaces:
    """Which objects compute exactly as one of these classes.

    kinds     the classes whose methods a path replaces
    methods   names of the replaced methods; default: all methods of the class. Overriding another method does not
              concern the path
    children  whether the path also replaces the calls of the modules inside, which must then be simple layers of
              torch

    An object is examined once for each outermost call of `faster`, see `once_a_call`.
    """

    def __init__(
        self, *kinds: type[Any], methods: Collection[str] | None = None, children: bool = True
    ) -> None:
        # as defined, so that a method that was replaced on the class since is noticed
        self.known = {kind: _resolved(kind, methods) for kind in kinds}
        self._methods = {kind: _getter(found) for kind, found in self.known.items()}
        self._examined = self._examine  # one object, by which `once_a_call` knows it
        self.children = children and methods is None

    def kind(self, thing: Any) -> type[Any] | None:
        """The class that the object computes as; None if the path must not replace it."""
        if torch.compiler.is_compiling():
            return None if portable() else self._kind_for_compiler(thing)
        if _switch.open > 0 or id(thing) in _switch.plain:
            return None
        found: type[Any] | None = once_a_call(self._examined, thing)
        return found

    def _base(self, thing: Any) -> type[Any] | None:
        here = type(thing)
        if here in self.known:
            return here
        return next((kind for kind in here.__mro__ if kind in self.known), None)

    def _kind_for_compiler(self, thing: Any) -> type[Any] | None:
        """As `kind`; a compiler cannot trace the rest."""
        kind = self._base(thing)
        if kind is None:
            return None
        for name, method in self.known[kind].items():
            if getattr(type(thing), name) is not method:
                return None
        return kind

    def _examine(self, thing: Any) -> type[Any] | None:
        kind = self._base(thing)
        if kind is None:
            return None
        known = self.known[kind]
        if not all(map(is_, self._methods[kind](type(thing)), known.values())):
            return None
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


def _getter(known: Mapping[str, Any]) -> Callable[[type[Any]], tuple[Any, ...]]:
    """What reads these attributes of a class, faster than one by one."""
    get: Callable[[type[Any]], Any] = attrgetter(*known)
    return get if len(known) > 1 else lambda kind: (get(kind),)


def _resolved(kind: type[Any], methods: Collection[str] | None) -> dict[str, Any]:
    """The methods of a class by name."""
    if methods is None:
        methods = [*methods_of(kind), *(CALLS if issubclass(kind, nn.Module) else ())]
    return {name: as_defined(kind, name) for name in methods}


def methods_of(kind: type[Any]) -> frozenset[str]:
    """The names of the methods and properties of a class, without those of `nn.Module`."""
    found = (one for one in kind.__mro__ if one not in (object, nn.Module))
    return frozenset(
        name
        for one in found
        for name, value in attributes(one).items()
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
