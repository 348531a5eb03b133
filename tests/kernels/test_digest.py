"""Digests of weights: every change of a number is seen, wherever the weights lie."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.fast.cpu.digest import digest, places_of, sums_at


@pytest.mark.parametrize("start", [0, 1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 7, 64, 129])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_change_of_any_bit(dtype, count, start):
    weight = torch.randn(start + count, generator=torch.Generator().manual_seed(count), dtype=dtype)[start:]
    before, places = digest([weight]), places_of([weight])
    number = weight.numpy().view(np.uint32 if dtype == torch.float32 else np.uint64)
    size = number.dtype.itemsize * 8
    for place in range(count):
        for bit in (0, size // 2, size - 1):
            number[place] ^= number.dtype.type(1 << bit)
            assert digest([weight]) != before
            assert sums_at(places).tolist() != [total for _, total in before]
            number[place] ^= number.dtype.type(1 << bit)
    assert digest([weight]) == before
