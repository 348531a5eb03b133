"""Compilation of CPU kernels: without the interpreter lock (GIL), cached on disk where possible.

numba caches machine code beside the file of a function and checks only that file for changes, although the
code contains functions of other files. Here the name of the cache folder is a fingerprint of the sources beside the
kernel and in this folder, the compiler versions and the CPU, so that any change leads to another folder. It lies in
the user's cache folder and does not depend on where regard is installed: what was compiled once on a machine is not
compiled again for another environment or another copy. Processes that need the same kernel at the same time compile
it once: the others wait and load the result (`turn`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
from llvmlite import binding
from numba import cfunc, njit

from regard.private import compile_in_turns, inside_kernels, keep_in

# Contraction (a·b + c in one rounding) is the only fast-math flag: reordering sums would undo the rounding
# trick in `exponential`. No kernel assumes finite numbers (`nnan`, `ninf`, which `fastmath=True` includes):
# −inf would be undefined, and a NaN would vanish in the next maximum.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}
# Functions that only kernels call need no Python entry point, which takes a third of the compilation time.
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **inside_kernels()}


HERE = Path(__file__).parent
ROOT = HERE.parents[3]
"""The folder that holds the package."""
NEWEST = 12
"""Number of newest cache folders that are always kept."""
UNUSED = 30 * 24 * 60 * 60.0
"""Seconds after which a cache folder counts as unused."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, for the types of its arguments. The machine code is cached in
    `folder`, or in memory only if there is no folder or numba cannot cache there.
    """
    sources = Path(function.__code__.co_filename).parent
    kept_in = folder(sources)
    if kept_in is not None:
        try:
            with _cache_in(kept_in):
                made = njit(cache=True, **_OPTIONS)(function)
        except RuntimeError:
            pass
        else:
            keep_in(made, kept_in, fingerprint(sources))
            compile_in_turns(made, partial(_turn, kept_in / f"{function.__module__}.{function.__qualname__}"))
            return made
    return njit(**_OPTIONS)(function)


def native(function: Callable[..., Any], signature: Any) -> Any:
    """Compile `function` now as a function of C, which needs no interpreter and has an `address`. It is cached as a
    kernel is."""
    kept_in = folder(Path(function.__code__.co_filename).parent)
    options = {name: value for name, value in _OPTIONS.items() if name != "nogil"}
    if kept_in is not None:
        with suppress(RuntimeError), _cache_in(kept_in):
            return cfunc(signature, cache=True, **options)(function)
    return cfunc(signature, **options)(function)


def part(function: Callable[..., Any]) -> Any:
    """As `kernel`, for a function that only kernels call: it is cached as a part of them."""
    return njit(**_OPTIONS, **_INNER)(function)


def reduction(function: Callable[..., Any]) -> Any:
    """As `part`, for sums over a row that the compiler may reorder to use vector registers."""
    return njit(**{**_OPTIONS, **_INNER, "fastmath": {"contract", "reassoc", "nsz"}})(function)


def inlined(function: Callable[..., Any]) -> Any:
    """As `part`, inlined at its call: passing many arrays costs more than using them."""
    return njit(**_OPTIONS, **_INNER, forceinline=True)(function)


def _turn(path: Path, signature: str) -> AbstractContextManager[None]:
    """Lock for compiling one signature of a kernel, or, for an empty signature, for writing its cache."""
    name = hashlib.sha256(signature.encode()).hexdigest()[:16] if signature else "all"
    return turn(path.with_name(f"{path.name}-{name}.lock"))


@contextmanager
def _cache_in(path: Path) -> Iterator[None]:
    """Set numba's cache folder. numba reads it when a function is decorated, and not again."""
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(path)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


@cache
def folder(sources: Path = HERE) -> Path | None:
    """The cache folder of the kernels in a folder of sources: in $NUMBA_CACHE_DIR if it is set, else in the user's
    cache folder, else beside the sources; None if it cannot be written.
    """
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [Path(user, "regard"), sources / "__pycache__"]
    settings: Any = numba.config
    if settings.CACHE_DIR:
        places = [Path(settings.CACHE_DIR)]
    for place in places:
        path = place / f"kernels-{_room(sources)}-{fingerprint(sources)}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
            os.utime(path)  # when it was last used
        except OSError:
            continue
        _prune(place)
        return path
    return None


def _room(sources: Path) -> str:
    """The dotted name of a folder of sources: regard.fast.cpu."""
    names = [sources.name]
    while (sources := sources.parent) != sources.parent and (sources / "__init__.py").is_file():
        names.insert(0, sources.name)
    return ".".join(names)


def compiled_here() -> list[Path]:
    """The folders of this package whose kernels were compiled on this machine."""
    kept = folder()
    rooms = {path.name.split("-")[1] for path in kept.parent.glob("kernels-*")} if kept else set()
    found = [ROOT.joinpath(*room.split(".")) for room in sorted(rooms)]
    return [sources for sources in found if sources.is_dir() and any(folder(sources).rglob("*.nbi"))]  # type: ignore[union-attr]


def _prune(place: Path) -> None:
    """Remove cached kernels of old sources, except the newest and those that may still be in use."""
    try:
        found = sorted((path.stat().st_mtime, path) for path in place.glob("kernels-*"))
    except OSError:
        return
    for used, path in found[:-NEWEST]:
        if time.time() - used > UNUSED:
            shutil.rmtree(path, ignore_errors=True)


@cache
def fingerprint(sources: Path = HERE) -> str:
    """Hash of the sources of a folder and of this one, the compiler versions and the CPU."""
    versions = (numba.__version__, llvmlite.__version__, sys.version, binding.get_host_cpu_name())
    digest = hashlib.sha256(repr(versions).encode())
    for path in sorted({*HERE.glob("*.py"), *sources.glob("*.py")}):
        digest.update(f"\n{path.name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


PATIENCE = 180.0
"""Seconds: three times the compilation time of the largest kernel."""
_PAUSE = 0.05


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Hold the lock of this file, if it can be acquired.

    The operating system releases the lock of a killed process, and no process waits longer than `PATIENCE` for one
    that hangs. If the file system has no locks, or the folder is not writable, every process compiles for itself.
    """
    from filelock import lock_descriptor, unlock_descriptor

    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + PATIENCE
        with suppress(OSError):  # a file system without locks
            while not lock_descriptor(handle, blocking=False) and time.monotonic() < end:
                time.sleep(_PAUSE)
        yield
    finally:
        with suppress(OSError):  # now: closing it would not, as long as a fork of this process has it open
            unlock_descriptor(handle)
        os.close(handle)
