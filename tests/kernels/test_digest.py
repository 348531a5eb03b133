"""Digests of weights: every change of a number is seen, wherever the weights lie."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.fast.cpu.digest import BLOCK, digest, places_of, sums_at


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
            assert tuple(sums_at(places).tolist()) != before.sums
            number[place] ^= number.dtype.type(1 << bit)
    assert digest([weight]) == before


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_parts_cover_all_blocks(parts):
    """Every number of weights of several blocks is compared by one of the parts, which have about equal shares."""
    sizes = (3 * BLOCK // 4 + 6, 5, BLOCK // 2, 0, BLOCK)
    weights = [torch.arange(size, dtype=torch.float32) for size in sizes]
    before, places = digest(weights), places_of(weights)
    shares = [places.share(part, parts) for part in range(parts)]
    assert [block for share in shares for block in range(len(places.sizes))[share]] == [
        *range(len(places.sizes))
    ]
    assert int(places.sizes.sum()) == 4 * sum(sizes)
    assert max(int(places.sizes[share].sum()) for share in shares) <= 4 * sum(sizes) / parts + BLOCK
    for weight in weights:
        for number in {0, len(weight) // 2, len(weight) - 1} & {*range(len(weight))}:
            weight.numpy()[number] += 1
            after = sums_at(places).tolist()
            assert sum(one != other for one, other in zip(after, before.sums, strict=True)) == 1
            weight.numpy()[number] -= 1
