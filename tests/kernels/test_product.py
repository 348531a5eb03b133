"""Products on tensor cores against double precision; torch's product where the kernel does not apply."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")
from regard.fast.cuda.product import chosen, multiply

SHAPES = [
    (1920, 512, 8000),
    (256, 512, 2048),
    (256, 3072, 512),
    (1920, 8000, 512),
    (2048, 1920, 512),
    (250, 1100, 512),
    (640, 500, 8000),
    (64, 512, 64),
]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("rows", "inner", "columns"), SHAPES)
@pytest.mark.parametrize("turned", [False, True])
def test_as_exact_as_single_precision(rows: int, inner: int, columns: int, turned: bool) -> None:
    torch.manual_seed(0)
    left = torch.randn(inner, rows, device="cuda").t() if turned else torch.randn(rows, inner, device="cuda")
    right = torch.randn(columns, inner, device="cuda").t()
    bias, before = torch.randn(columns, device="cuda"), torch.randn(rows, columns, device="cuda")
    truth = left.double() @ right.double()
    allowed = 4e-6 * inner**0.5
    out = torch.empty(rows, columns, device="cuda")
    multiply(left, right, out)
    assert (out - truth).abs().max() < allowed
    multiply(left, right, out, bias=bias)
    assert (out - truth - bias).abs().max() < allowed
    wide = torch.zeros(rows, columns + 16, device="cuda")
    wide[:, 8:-8] = before
    multiply(left, right, wide[:, 8:-8], add=True)
    assert (wide[:, 8:-8] - truth - before).abs().max() < allowed
    assert (wide[:, :8] == 0).all() and (wide[:, -8:] == 0).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_what_is_not_a_number_passes_through() -> None:
    left, right = torch.ones(256, 512, device="cuda"), torch.ones(512, 2048, device="cuda")
    left[3, 7] = float("nan")
    out = torch.empty(256, 2048, device="cuda")
    multiply(left, right, out)
    assert out[3].isnan().all() and not out[[0, 1, 2, 4]].isnan().any()


def test_elsewhere_torch_multiplies() -> None:
    torch.manual_seed(0)
    left, right, bias = torch.randn(130, 20), torch.randn(20, 32), torch.randn(32)
    out = torch.ones(130, 32)
    multiply(left, right, out, add=True)
    torch.testing.assert_close(out, 1 + left @ right)
    multiply(left, right, out, bias=bias)
    torch.testing.assert_close(out, left @ right + bias)
    multiply(left, right, out)
    torch.testing.assert_close(out, left @ right)


def test_small_and_long_sums_are_left_to_torch() -> None:
    assert chosen(64, 512, 2560) is None  # too few rows
    assert chosen(512, 8000, 64) is None  # long sums, few tiles
    assert chosen(1920, 8000, 512) == ((256, 64, 32), 4)
    assert chosen(8000, 1920, 512) == ((256, 64, 32), 1)
    assert chosen(256, 512, 1001) is None  # columns that do not start at multiples of 16
    assert chosen(256, 512, 2560) == ((64, 64, 64), 1)
    assert chosen(256, 2048, 512) == ((32, 64, 64), 4)
