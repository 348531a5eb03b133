"""Runs that are compared bit by bit must sum in the same order, in this process and in its children."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from regard.structures.kernels.cpu.parallel import ARM


@pytest.fixture(autouse=True, scope="module")
def numbers_of_a_fresh_process() -> Iterator[None]:
    """Use one thread, and oneDNN except on ARM. torch disables oneDNN for good after one failure, as with
    bf16 on an older CPU."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.backends.mkldnn.flags(enabled=not ARM):
        yield
    torch.set_num_threads(threads)
