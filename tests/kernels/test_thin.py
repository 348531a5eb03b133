"""Products of few rows: their tiles, and on a GPU the kernel against torch's products in double precision."""

from __future__ import annotations

from itertools import product

import pytest
import torch

pytest.importorskip("triton")
from regard.fast.cuda.thin import COUNTERS, Tile, multiplied, tile_of


def test_tiles_divide_the_sum_and_leave_room() -> None:
    sizes = range(32, 4097, 32)
    for directions, rows, inner, columns in product(
        (1, 2), (32, 64, 96, 100, 192, 256), sizes[::7], sizes[::7]
    ):
        for turned, single in product((False, True), repeat=2):
            tile = tile_of(directions, rows, inner, columns, turned=turned, single=single)
            if tile is not None:
                assert inner % (tile.terms * tile.parts) == 0
                assert directions * -(-rows // tile.rows) * -(-columns // tile.columns) <= COUNTERS


def test_shapes_of_no_use_are_left_to_torch() -> None:
    assert tile_of(1, 16, 512, 2048, turned=True, single=True) is None  # too few rows
    assert tile_of(1, 512, 512, 2048, turned=True, single=True) is None  # too many
    assert tile_of(1, 64, 500, 2048, turned=True, single=True) is None  # a sum that no tile divides
    assert tile_of(1, 64, 512, 8000, turned=True, single=True) is None  # a vocabulary
    assert tile_of(1, 64, 512, 2048, turned=True, single=False) == Tile(64, 16, 64, 1, 4)
    assert tile_of(2, 64, 1024, 256, turned=False, single=True) == Tile(16, 32, 32, 8, 2)
    out = torch.zeros(1, 64, 512)
    assert not multiplied(torch.ones(1, 64, 512), torch.ones(1, 512, 512), out, add=True)
    assert not out.any()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["highest", "high"])
@pytest.mark.parametrize("rows", [33, 64, 100, 256])
@pytest.mark.parametrize(
    ("directions", "inner", "columns"), [(1, 512, 3072), (1, 3072, 512), (2, 256, 768), (2, 1024, 256)]
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_gpu_multiplies(
    precision: str, rows: int, directions: int, inner: int, columns: int, turned: bool
) -> None:
    before = torch.get_float32_matmul_precision()
    torch.manual_seed(0)
    left = torch.randn(directions, rows, inner, device="cuda")
    right = torch.randn(directions, columns, inner, device="cuda").transpose(1, 2)
    right = right if turned else right.contiguous()
    wide = torch.randn(directions, rows, columns + 64, device="cuda")
    out, around = wide[..., 32:-32], wide.clone()
    truth = left.double() @ right.double() + out
    torch.set_float32_matmul_precision(precision)
    try:
        done = multiplied(left, right, out, add=True)
    finally:
        torch.set_float32_matmul_precision(before)
    if done:
        allowed = (4e-6 if precision == "highest" else 4e-3) * inner**0.5
        assert (out - truth).abs().max() < allowed
        assert torch.equal(wide[..., :32], around[..., :32]) and torch.equal(
            wide[..., -32:], around[..., -32:]
        )
        again = around[..., 32:-32].clone()
        torch.set_float32_matmul_precision(precision)
        try:
            assert multiplied(left, right, again, add=True)
        finally:
            torch.set_float32_matmul_precision(before)
        assert torch.equal(again, out)  # the parts of a sum are added in one order
    assert done or rows * inner > 256 * 2048
