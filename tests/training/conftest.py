"""Runs that are compared bit by bit must add up in the same order, in this process and in those it starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from regard.kernels.onednn import ARM


@pytest.fixture(autouse=True, scope="module")
def numbers_of_a_fresh_process() -> Iterator[None]:
    """One thread, and the matrix library on but for ARM: torch switches that off for good when it fails once, as with
    bf16 on an older CPU."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.backends.mkldnn.flags(enabled=not ARM):
        yield
    torch.set_num_threads(threads)
