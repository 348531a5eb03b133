"""Faults: an unexpected exception in a part that is not regard's own, told with the name of the part.

An exception that passes through a method of such a part is the part's. One that our own code raises, in a model that
uses such parts, may come from what a part returned; then all of them are named. Everything else is a bug of
regard's and keeps its traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from regard.errors import RegardError
from regard.parts.provenance import Provenance, used_parts
from regard.parts.registry import own_package, registered

COMPUTING = ("column", "cell", "composer", "score", "selection", "store", "network", "encoder", "decoder")
"""Kinds whose results go through the model, so that a wrong one may fail elsewhere."""
WRONG_VALUES = (TypeError, ValueError, RuntimeError, AttributeError, LookupError, AssertionError)
"""Exceptions that a wrong result leads to."""
LIBRARIES = sys.stdlib_module_names | {"torch", "numpy", "accelerate", "numba", "safetensors"}
NO_MEMORY = ("out of memory", "allocate memory", "not enough memory", "failed to allocate")


@contextmanager
def faults_named(spec: Callable[[], Any]) -> Iterator[None]:
    """Turn an unexpected exception in a foreign part into a `RegardError` that names it; the cause stays attached.

    spec   gives the options whose parts the model is made of
    """
    try:
        yield
    except Exception as error:
        told = fault(error, spec)
        if told is None:
            raise
        raise told from error


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
            return RegardError(f"{told}: {_reason(error)}", fix=_remedy([(kind, name)]))
    if not isinstance(error, WRONG_VALUES) or not _is_raised_here(frames):
        return None
    used = [one for one in used_parts(spec()) if one.kind in COMPUTING]
    return _one_of(error, used) if used else None


def _one_of(error: BaseException, used: Sequence[Provenance]) -> RegardError:
    names = " or ".join(_named(one.kind, one.name, one.defined.rpartition(".")[0]) for one in used)
    told = f"{names} returned what regard cannot use, or regard has a bug"
    return RegardError(f"{told}: {_reason(error)}", fix=_remedy([(one.kind, one.name) for one in used]))


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


def _remedy(parts: Sequence[tuple[str, str]]) -> str:
    return "Check it:  " + "; ".join(f"regard.testing.check_part({kind!r}, {name!r})" for kind, name in parts)


def _no_memory(error: BaseException) -> bool:
    return "OutOfMemory" in type(error).__name__ or any(sign in str(error).lower() for sign in NO_MEMORY)
