"""Small products of torch in one thread: waking the others takes longer than the products."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL = 128
"""Positions of all sources together."""


@contextmanager
def one_thread_for(positions: int) -> Iterator[None]:
    """Let torch compute in one thread if there are few positions.

    torch has one number for the whole process, and a thread that asks for it first would keep it. So this has no effect
    while the program has other threads than those of the kernels.
    """
    before = torch.get_num_threads()
    if before == 1 or positions > SMALL or not _alone():
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _alone() -> bool:
    here = threading.current_thread()
    return all(one is here or one.name.startswith("regard-") for one in threading.enumerate())
