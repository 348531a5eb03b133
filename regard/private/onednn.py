"""Disable oneDNN, torch's CPU library for matrix products, on ARM.

On ARM oneDNN repacks the weights for every product. Times on a Neoverse N1 with oneDNN and with torch's other
library: 600 and 28 µs for a product of 64 × 64 matrices; 144 and 27 ms for a Transformer layer of 128 units
(32 × 20 positions, forward and backward); 22 and 10 ms for an image convolution. One-dimensional convolutions
take half the time with oneDNN. Large products take about the same time.

torch has one switch for the whole process (`torch.backends.mkldnn.enabled`) and none for a thread. So all open
contexts are counted, and the setting from before the first is restored after the last, in whichever thread it ends.
Meanwhile other threads compute without oneDNN too: the same results to rounding.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

ARM = platform.machine() in ("aarch64", "arm64")

_lock = threading.Lock()
_users = 0
_before = True


@contextmanager
def without_onednn() -> Iterator[None]:
    """Disable oneDNN on ARM while at least one such context is open. No effect on other CPUs."""
    if not ARM:
        yield
        return
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    global _users, _before
    with _lock:
        if _users == 0:
            _before = bool(torch.backends.mkldnn.enabled)
            torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
        _users += more
        if _users == 0:
            torch.backends.mkldnn.enabled = _before  # type: ignore[assignment]
