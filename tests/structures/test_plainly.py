"""`plainly` leaves the kernels out, in the thread that asks for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from regard.structures.kernels import available, plainly

EDGES = torch.zeros(1, 3, 2, 2)


def test_other_threads_keep_their_kernels() -> None:
    outside = available("chain", EDGES)
    with ThreadPoolExecutor(1) as other, plainly():
        assert not available("chain", EDGES)
        assert other.submit(available, "chain", EDGES).result() == outside
    assert available("chain", EDGES) == outside
