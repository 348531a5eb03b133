"""Parts that are not regard's own: where they come from, and the faults in them.

A saved model lists them, so that anyone without the package learns what to install. Loading compares these names with
the registered parts; it never imports anything that the file names.

A fault is an unexpected exception in such a part. One that passes through a method of the part is the part's. One that
our own code raises, in a model that uses such parts, may come from what a part returned; then all of them are named.
Everything else is a bug of regard's and keeps its traceback.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from types import FrameType, TracebackType
from typing import Any

from regard.errors import RegardError
from regard.parts.options import Options, Settings
from regard.parts.registry import KINDS, failure, names, origin, own_package, part, registered

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9.!+_-]+")
COMPUTING = ("column", "cell", "composer", "score", "selection", "store", "network", "encoder", "decoder")
"""Kinds whose results go through the model, so that a wrong one may fail elsewhere."""
WRONG_VALUES = (TypeError, ValueError, RuntimeError, AttributeError, LookupError, AssertionError)
"""Exceptions that a wrong result leads to."""
LIBRARIES = sys.stdlib_module_names | {"torch", "numpy", "accelerate", "numba", "safetensors"}
NO_MEMORY = ("out of memory", "allocate memory", "not enough memory", "failed to allocate")


@dataclass(frozen=True)
class Provenance:
    """The origin of a part.

    defined        the registered class, "my_parts.cell.MyCell"
    distribution   the installed package that contains it; empty, like its version, if a script registered the part
    """

    kind: str
    name: str
    defined: str
    distribution: str = ""
    version: str = ""

    @classmethod
    def of(cls, kind: str, name: str, made: Any) -> Provenance:
        found = origin(made)
        return cls(kind, name, f"{made.__module__}.{made.__qualname__}", found.distribution, found.version)

    def __str__(self) -> str:
        package = f"{self.distribution} {self.version}" if self.distribution else "a script"
        return f"{self.kind} {self.name} ({package})"

    def to_dict(self) -> dict[str, str]:
        return {
            "kind": self.kind,
            "name": self.name,
            "defined": self.defined,
            "distribution": self.distribution,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Provenance:
        """The inverse of `to_dict`. Invalid names and versions are dropped, because they become part of a command."""
        distribution, version = str(values.get("distribution", "")), str(values.get("version", ""))
        known = _NAME.fullmatch(distribution) is not None
        return cls(
            str(values["kind"]),
            str(values["name"]),
            str(values.get("defined", "")),
            distribution if known else "",
            version if known and _VERSION.fullmatch(version) else "",
        )


def used_parts(value: Any, metrics: Iterable[str] = ()) -> list[Provenance]:
    """The parts in some options that are not regard's own, in order; metrics are given by name."""
    found: dict[tuple[str, str], Any] = {
        (options.kind, options.type): options.part for options in _parts_in(value)
    }
    for name in metrics:
        wanted = name.rpartition(".")[2]  # `output.metric` → `metric`
        known = [part("metric", one) for one in names("metric")]
        found.update({("metric", one.Options.type): one for one in known if one.has_name(wanted)})
    return [Provenance.of(kind, name, made) for (kind, name), made in found.items() if not origin(made).own]


def _parts_in(value: Any) -> Iterator[Options]:
    if isinstance(value, Settings):
        if isinstance(value, Options) and value.kind:
            yield value
        for name in type(value).model_fields:
            yield from _parts_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _parts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts_in(item)


def missing_parts(parts: Sequence[Provenance]) -> list[Provenance]:
    """Those that are not registered."""
    return [one for one in parts if one.kind not in KINDS or part(one.kind, one.name) is None]


def check_installed(parts: Sequence[Provenance], *, where: str = "") -> None:
    """Refuse parts that are not registered, with their origin and the remedy."""
    missing = missing_parts(parts)
    if not missing:
        _note_versions(parts, where)
        return
    listed = ", ".join(map(str, missing))
    used = "a part that is" if len(missing) == 1 else "parts that are"
    raise RegardError(
        f"the model uses {used} not registered here: {listed}.",
        where=where,
        fix=" ".join(dict.fromkeys(map(_remedy, missing))),
    )


def _note_versions(parts: Sequence[Provenance], where: str) -> None:
    """Warn if a distribution has another version than the one that the model was saved with."""
    for one in {one.distribution: one for one in parts if one.distribution}.values():
        found = origin(part(one.kind, one.name))
        if found.distribution and one.version and found.version != one.version:
            place, installed = f"{where}: " if where else "", f"{found.distribution} {found.version}"
            told = f"{place}saved with {one.distribution} {one.version}; {installed} is installed."
            warnings.warn(told, stacklevel=3)


def _remedy(missing: Provenance) -> str:
    if not missing.distribution:
        defined = f" ({missing.defined})" if missing.defined else ""
        return f"Run the code that registers it{defined} before the model is loaded."
    try:
        installed = metadata.version(missing.distribution)
    except metadata.PackageNotFoundError:
        version = f"=={missing.version}" if missing.version else ""
        return f"Install it:  pip install '{missing.distribution}{version}'"
    if reason := failure(missing.distribution):
        return f"{missing.distribution} {installed} is installed, but could not be loaded: {reason}."
    return (
        f"{missing.distribution} {installed} is installed and does not register it; the model was saved with "
        f"{missing.version or 'another version'}."
    )


def fault(error: BaseException, spec: Callable[[], Any] = tuple) -> RegardError | None:
    """The message for an exception in a foreign part; None if no foreign part can have caused it."""
    if isinstance(error, RegardError | OSError | MemoryError | Warning) or _no_memory(error):
        return None
    frames = list(_frames(error.__traceback__))
    for frame in reversed(frames):
        if (found := _part_of(frame)) is not None:
            kind, name, made = found
            method = _method(frame, made)
            told = (
                f"{_named(kind, name, made.__module__)}: {method} failed, or returned what regard cannot use"
            )
            return RegardError(f"{told}: {_reason(error)}", fix=_to_check([(kind, name)]))
    if not isinstance(error, WRONG_VALUES) or not _is_raised_here(frames):
        return None
    used = [one for one in used_parts(spec()) if one.kind in COMPUTING]
    return _one_of(error, used) if used else None


def _one_of(error: BaseException, used: Sequence[Provenance]) -> RegardError:
    names = " or ".join(_named(one.kind, one.name, one.defined.rpartition(".")[0]) for one in used)
    told = f"{names} returned what regard cannot use, or regard has a bug"
    return RegardError(f"{told}: {_reason(error)}", fix=_to_check([(one.kind, one.name) for one in used]))


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _part_of(frame: FrameType) -> tuple[str, str, Any] | None:
    """The foreign part whose method a frame runs."""
    code = frame.f_code
    if not code.co_argcount:
        return None
    first = frame.f_locals.get(code.co_varnames[0])
    owner = first if isinstance(first, type) else type(first)
    if own_package(owner):
        return None
    known = {id(made): (kind, name, made) for kind, name, made in registered() if not own_package(made)}
    return next((known[id(base)] for base in owner.__mro__ if id(base) in known), None)


def _method(frame: FrameType, made: type) -> str:
    """The part's method that a frame runs, or, if the frame is of a base class of ours, those that it calls."""
    root = _root(frame)
    if root == "torch":
        return "forward"
    if root == "regard":
        theirs = {name for base in made.__mro__ if not own_package(base) for name in vars(base)}
        called = [name for name in frame.f_code.co_names if name in theirs and callable(getattr(made, name))]
        if called:
            return " or ".join(called)
    return frame.f_code.co_name


def _is_raised_here(frames: Sequence[FrameType]) -> bool:
    """Whether our own code was the last that ran, but for libraries: not a callback of the user's."""
    return (
        next((root for frame in reversed(frames) if (root := _root(frame)) not in LIBRARIES), "") == "regard"
    )


def _root(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _named(kind: str, name: str, module: str) -> str:
    return f"the {kind} {name!r} ({module})"


def _reason(error: BaseException) -> str:
    said = str(error).strip()
    return f"{type(error).__name__}: {said}" if said else f"{type(error).__name__}."


def _to_check(parts: Sequence[tuple[str, str]]) -> str:
    return "Check it:  " + "; ".join(f"regard.testing.check_part({kind!r}, {name!r})" for kind, name in parts)


def _no_memory(error: BaseException) -> bool:
    return "OutOfMemory" in type(error).__name__ or any(sign in str(error).lower() for sign in NO_MEMORY)
