"""How a kernel for the CPU is compiled: released from the interpreter's lock, kept on disk where that is possible.

numba keeps machine code beside the file of its function and looks at that file alone for changes, while the code
contains every function it calls, from whichever file. Here the folder it is kept in is named after the contents of all
files that kernels are made of, the versions of the compiler and the CPU: where one of them differs, so does the folder.
Processes that need a kernel at the same time compile it once (`turns`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
from llvmlite import binding
from numba import njit

from regard.kernels.cpu.turns import turn
from regard.private import compile_in_turns, inside_kernels

# Contraction (a·b + c in one rounding) is the only liberty: reordering sums would undo the rounding trick in
# `exponential`. Nothing is ever compiled on the promise of finite numbers (`nnan`, `ninf`, which `fastmath=True`
# contains): −inf would be undefined, and a NaN would vanish in the next maximum.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}
# What only kernels call needs no entry from Python, which would take a third of the time to compile.
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **inside_kernels()}


NEWEST = 3
"""Folders of kernels that are kept in any case."""
UNUSED = 24 * 60 * 60.0
"""Seconds after which no process is expected to use a folder any more."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, for the types it is called with; kept in `folder` where there is one, and
    where numba cannot keep it after all, in memory.
    """
    kept_in = folder()
    if kept_in is not None:
        try:
            with _cache_in(kept_in):
                made = njit(cache=True, **_OPTIONS)(function)
        except RuntimeError:
            pass
        else:
            compile_in_turns(made, partial(_turn, kept_in / f"{function.__module__}.{function.__qualname__}"))
            return made
    return njit(**_OPTIONS)(function)


def part(function: Callable[..., Any]) -> Any:
    """As `kernel`, for what only other kernels call: it is kept as a part of them, and not by itself."""
    return njit(**_OPTIONS, **_INNER)(function)


def reduction(function: Callable[..., Any]) -> Any:
    """As `part`, for a sum over a row in whatever order fills the registers."""
    return njit(**{**_OPTIONS, **_INNER, "fastmath": {"contract", "reassoc", "nsz"}})(function)


def inlined(function: Callable[..., Any]) -> Any:
    """As `part`, put in the place of its call: many arrays cost more to hand over than to use."""
    return njit(**_OPTIONS, **_INNER, forceinline=True)(function)


def _turn(path: Path, signature: str) -> AbstractContextManager[None]:
    """Of each signature of a kernel, so that nobody waits for what it does not need; and of all of them."""
    name = hashlib.sha256(signature.encode()).hexdigest()[:16] if signature else "all"
    return turn(path.with_name(f"{path.name}-{name}.lock"))


@contextmanager
def _cache_in(path: Path) -> Iterator[None]:
    """numba asks for the folder when a function is decorated, and not again."""
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(path)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


@cache
def folder() -> Path | None:
    """Where these kernels are kept: in $NUMBA_CACHE_DIR if it is set, else beside the source, else in the user's cache
    folder; None if nothing can be written there.
    """
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [Path(__file__).parent / "__pycache__", Path(user, "regard")]
    settings: Any = numba.config
    if settings.CACHE_DIR:
        places = [Path(settings.CACHE_DIR)]
    for place in places:
        path = place / f"kernels-{fingerprint()}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
            os.utime(path)  # when it was last used
        except OSError:
            continue
        _prune(place)
        return path
    return None


def _prune(place: Path) -> None:
    """Remove the kernels of old sources from a folder: all but the newest, and those that may still be in use."""
    try:
        found = sorted((path.stat().st_mtime, path) for path in place.glob("kernels-*"))
    except OSError:
        return
    for used, path in found[:-NEWEST]:
        if time.time() - used > UNUSED:
            shutil.rmtree(path, ignore_errors=True)


@cache
def fingerprint() -> str:
    """Of every file of this folder, the compiler and the CPU."""
    versions = (numba.__version__, llvmlite.__version__, sys.version, binding.get_host_cpu_name())
    digest = hashlib.sha256(repr(versions).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(f"\n{path.name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
