"""Whether weights have changed since they were laid out for the kernels.

The version counter of a tensor does not count changes through `data` or numpy, so the numbers are read. That takes as
long as several steps of a search, so another thread reads them while the search runs (`meanwhile`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")


class RememberedWeights:
    """Weights as they were: where their numbers lie, their versions, and a digest of the numbers."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        from regard.fast.cpu.layout import digest

        # the tensors keep their memory, so that no others can lie in the same place
        self._weights, self._where = [one.detach() for one in weights], _where(weights)
        self._digest = digest(weights)

    def still(self, weights: Sequence[Tensor]) -> bool:
        """Whether the weights are the same as then. Inside `meanwhile`, the numbers are compared later."""
        from regard.fast.cpu.layout import digest

        where = _where(weights)
        if self._where == where:
            return _later(lambda: self._digest == digest(weights))
        if self._digest != digest(weights):
            return False
        self._weights, self._where = [one.detach() for one in weights], where
        return True


def _where(weights: Sequence[Tensor]) -> list[tuple[Any, ...]]:
    return [
        (one.data_ptr(), one.shape, one.stride(), one.dtype, -1 if one.is_inference() else one._version)
        for one in weights
    ]


class _Open(threading.local):
    """The comparisons that this thread has put off; None: it puts off none."""

    checks: list[Future[bool]] | None = None


_open = _Open()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=4, thread_name_prefix="regard-changes")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _later(check: Callable[[], bool]) -> bool:
    if _open.checks is None:
        return check()
    try:
        _open.checks.append(_pool().submit(check))
    except RuntimeError:  # the interpreter is shutting down and starts no more threads
        return check()
    return True


def meanwhile(call: Callable[[], Result]) -> Result:
    """The result of a call. Weights that lie where they lay are compared while it runs; if they have changed, it is
    repeated."""
    if _open.checks is not None or torch.get_num_threads() < 2:
        return call()
    _open.checks = []
    try:
        result = call()
    finally:
        checks, _open.checks = _open.checks, None
        same = [check.result() for check in checks]
    return result if all(same) else call()
