"""Products of a few rows inside a kernel: against double precision, for all heights and rests of tiles."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.fast.cpu.layout import panels
from regard.fast.cpu.product import Target, Window, multiply
from regard.structures.kernels.cpu.compilation import kernel


@kernel
def product(rows, weight, out, step, column, add):
    multiply(len(out) // step, Window(rows, 0, step, column), weight, Target(out, 0, step, column, add))


@pytest.mark.parametrize(("outputs", "depth"), [(70, 37), (32, 64), (5, 3), (129, 1)])
def test_as_exact_as_single_precision(outputs: int, depth: int) -> None:
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((outputs, depth)).astype(np.float32)
    packed = panels(torch.from_numpy(weight))
    for count in range(1, 20):
        rows = rng.standard_normal((count, depth)).astype(np.float32)
        truth = rows.astype(np.float64) @ weight.T.astype(np.float64)
        out = np.empty((count, outputs), np.float32)
        product(rows, packed, out, 1, 0, False)
        np.testing.assert_allclose(out, truth, atol=1e-5)
        product(rows, packed, out, 1, 0, True)
        np.testing.assert_allclose(out, 2 * truth, atol=2e-5)


def test_a_row_has_the_same_bits_among_any_others() -> None:
    rng = np.random.default_rng(1)
    weight = panels(torch.from_numpy(rng.standard_normal((50, 41)).astype(np.float32)))
    rows = rng.standard_normal((23, 41)).astype(np.float32)
    together = np.empty((23, 50), np.float32)
    product(rows, weight, together, 1, 0, False)
    for count in range(1, 23):
        some = np.empty((count, 50), np.float32)
        product(rows[23 - count :].copy(), weight, some, 1, 0, False)
        assert (some == together[23 - count :]).all()


def test_rows_apart_and_columns_before() -> None:
    rng = np.random.default_rng(2)
    weight = rng.standard_normal((33, 6)).astype(np.float32)
    rows = rng.standard_normal((10, 8)).astype(np.float32)
    out = np.zeros((10, 35), np.float32)
    product(rows, panels(torch.from_numpy(weight)), out, 2, 2, False)
    np.testing.assert_allclose(out[::2, 2:], rows[::2, 2:] @ weight.T, atol=1e-5)
    assert (out[1::2] == 0).all() and (out[:, :2] == 0).all()
