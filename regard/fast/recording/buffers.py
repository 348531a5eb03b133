"""Buffers: the memory in which CUDA recurrences are computed. A workspace is the part of a buffer that one plan uses.

All recurrences share one set of buffers. A backward pass that finds its values overwritten runs the forward
pass again. A recorded graph cannot check for this, so recordings have private sets.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

Buffers = dict[Any, Any]
"""By kind of plan, device, precision and place."""

_ALL: Buffers = {}
_entered = threading.local()


def buffers() -> Buffers:
    found: Buffers = getattr(_entered, "own", _ALL)
    return found


def shared() -> bool:
    """Whether this thread uses the shared buffers."""
    return buffers() is _ALL


@contextmanager
def using_buffers(own: Buffers) -> Iterator[None]:
    """Compute the recurrences of this thread in these buffers."""
    before = buffers()
    _entered.own = own
    try:
        yield
    finally:
        _entered.own = before


def workspaces_of(own: Buffers) -> list[Any]:
    """All workspaces of these buffers. A recording keeps the workspaces it was made in: its buffer drops them, for
    example when it grows, and their memory outside the buffer would then be reused."""
    return [known.workspace for graphs in own.values() for known in graphs.plans.values()]


def free_shared(kinds: Iterable[Any]) -> None:
    """Free the shared buffers of these kinds, if no backward pass needs them: recordings now replace them."""
    for kind in kinds:
        if kind in _ALL and _ALL[kind].free:
            del _ALL[kind]
