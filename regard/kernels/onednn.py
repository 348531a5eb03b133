"""oneDNN, by which torch multiplies matrices on a CPU, set aside on ARM.

There it prepares the weights anew for every product. On a Neoverse N1 a product of 64 × 64 matrices takes it 600 µs,
and the library below it 28; a Transformer layer of 128 units (32 × 20 positions, forth and back) 144 ms and 27; a
convolution of pictures 22 and 10 ms. Convolutions over a line take half of the time with it. Large products are alike.
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
    """On ARM torch multiplies without oneDNN as long as somebody is inside; elsewhere as it did."""
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
