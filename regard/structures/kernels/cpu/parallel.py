"""A batch shared among threads.

The kernels release the interpreter's lock, so ordinary threads run them side by side. Unlike a parallel loop inside
numba this needs no threading layer, may be entered from several threads at once and survives a fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

MINIMUM_WORK = 20_000  # inner steps worth the wake-up of another thread (some 50 microseconds)


@lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=threads, thread_name_prefix="regard-structures")


def over_batch(function: Callable[..., Any], batch: int, work: int, *arguments: Any) -> None:
    """Call `function(*arguments, first, last)` on ranges that cover `range(batch)`.

    `work` counts the inner steps of one element; as many threads as torch uses take part, the calling one among them.
    """
    shares = min(torch.get_num_threads(), batch, max(1, batch * work // MINIMUM_WORK))
    if shares <= 1:
        function(*arguments, 0, batch)
        return
    bounds = [batch * share // shares for share in range(shares + 1)]
    # A pool does not cross a fork: the process is part of its key, so a child makes its own.
    pool = _pool(os.getpid(), torch.get_num_threads())
    others = [pool.submit(function, *arguments, first, last) for first, last in pairwise(bounds[1:])]
    function(*arguments, bounds[0], bounds[1])
    for other in others:
        other.result()


def arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """The tensors as contiguous arrays, sharing memory where they already are."""
    return tuple(_array(tensor) for tensor in tensors)


def _array(tensor: Tensor) -> Any:
    if tensor.requires_grad:
        tensor = tensor.detach()
    return tensor.numpy() if tensor.is_contiguous() else tensor.contiguous().numpy()


def full_lengths(lengths: Tensor | None, batch: int, longest: int) -> Any:
    """Lengths as an array (B,): those given, or the longest for all."""
    return np.full(batch, longest) if lengths is None else _array(lengths)
