"""Grounds: in whose memory the recurrences on CUDA are computed.

All share one set, and whoever finds that another has used it in the meantime computes his numbers again. A recording
cannot ask: it has a set of its own, which nobody else enters.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

Grounds = dict[Any, Any]
"""By kind of plan, device and precision."""

_ALL: Grounds = {}
_entered = threading.local()


def grounds() -> Grounds:
    found: Grounds = getattr(_entered, "own", _ALL)
    return found


def shared() -> bool:
    """Whether this thread computes where all do."""
    return grounds() is _ALL


@contextmanager
def apart(own: Grounds) -> Iterator[None]:
    """This thread computes its recurrences on these."""
    before = grounds()
    _entered.own = own
    try:
        yield
    finally:
        _entered.own = before


def furnished(own: Grounds) -> list[Any]:
    """All rooms on these: a recording keeps those it was made in. Others forget them, when a ground must grow say, and
    what does not lie on the ground itself would be given to somebody else."""
    return [known.room for graphs in own.values() for known in graphs.plans.values()]


def vacate(kinds: Iterable[Any]) -> None:
    """Gives back shared grounds where nobody's numbers wait: what ran there has been recorded apart."""
    for kind in kinds:
        if kind in _ALL and _ALL[kind].free:
            del _ALL[kind]
