"""Grounds: the memory in which CUDA recurrences are computed.

All recurrences share one set of grounds. A backward pass that finds its values overwritten runs the forward
pass again. A recorded graph cannot check for this, so recordings have private sets.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

Grounds = dict[Any, Any]
"""By kind of plan, device, precision and place."""

_ALL: Grounds = {}
_entered = threading.local()


def grounds() -> Grounds:
    found: Grounds = getattr(_entered, "own", _ALL)
    return found


def shared() -> bool:
    """Whether this thread uses the shared grounds."""
    return grounds() is _ALL


@contextmanager
def apart(own: Grounds) -> Iterator[None]:
    """Compute the recurrences of this thread on these grounds."""
    before = grounds()
    _entered.own = own
    try:
        yield
    finally:
        _entered.own = before


def furnished(own: Grounds) -> list[Any]:
    """All rooms of these grounds. A recording keeps the rooms it was made in: its ground drops them, for
    example when it grows, and their memory outside the ground would then be reused."""
    return [known.room for graphs in own.values() for known in graphs.plans.values()]


def vacate(kinds: Iterable[Any]) -> None:
    """Free the shared grounds of these kinds, if no backward pass needs them: recordings now replace them."""
    for kind in kinds:
        if kind in _ALL and _ALL[kind].free:
            del _ALL[kind]
