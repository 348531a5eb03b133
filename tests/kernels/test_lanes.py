"""Many numbers of a row at once: comparisons and weighted sums as numpy's, for every lane and any rest."""

from __future__ import annotations

import numpy as np
import pytest

from regard.fast.cpu.best import gather_best
from regard.fast.cpu.lanes import LANES, MANY, above_bits, add_few, add_many, lowest_bit
from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.cpu.compilation import kernel

PRECISIONS = [np.float32, np.float64]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3.0, -3.0]


@kernel
def bits_of(row, first, value):
    return above_bits(row, first, value)


@kernel
def lowest(bits):
    return lowest_bit(bits)


@kernel
def best_of(row, values, words):
    gather_best(row, 5, values, words)


@kernel
def read_many(values, row, places, count, weights, column, out):
    add_many(values, row, places, count, weights, column, out)


@kernel
def read_few(values, row, places, count, weights, column, out):
    add_few(values, row, places, count, weights, column, out)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bits_of_numbers_above(precision):
    rng = np.random.default_rng(0)
    row = rng.choice(np.array([*SPECIAL, *rng.standard_normal(8)]), LANES + 7).astype(precision)
    for first in range(8):
        for value in {*SPECIAL, *row.tolist()}:
            some = row[first : first + LANES]
            wanted = sum(1 << place for place, one in enumerate(some) if not one <= precision(value))
            assert bits_of(row, first, precision(value)) == wanted


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_bit_for_every_lane(precision):
    row = np.zeros(LANES, precision)
    for place in range(LANES):
        row[:] = 0
        row[place] = 1
        assert bits_of(row, 0, precision(0)) == 1 << place
        assert lowest(bits_of(row, 0, precision(0))) == place


def test_lowest_bit():
    assert [lowest(1 << place) for place in range(63)] == list(range(63))
    assert [lowest(3 << place | 1 << 62) for place in range(61)] == list(range(61))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("length", [1, LANES - 1, LANES, 3 * LANES + 5])
def test_best_as_sorted(length, precision):
    """The first of equal numbers comes first, and NaN before all."""
    rng = np.random.default_rng(length)
    row = rng.integers(-9, 9, length).astype(precision)
    for damage in (None, np.nan, np.inf, -np.inf):
        if damage is not None:
            row[rng.integers(length)] = damage
        values, words = np.full(4, -np.inf, precision), np.zeros(4, np.int64)
        best_of(row, values, words)
        order = sorted(range(length), key=lambda j: (not np.isnan(row[j]), -row[j], j))[:4]
        order = [j for j in order if row[j] != -np.inf]
        np.testing.assert_array_equal(values[: len(order)], row[order])
        assert words[: len(order)].tolist() == [5 + j for j in order]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("add", "width"), [(read_many, MANY), (read_few, WIDTH)])
def test_weighted_sums_of_rows(add, width, precision):
    """Of the places in their order, into the columns asked for and no others."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal((3, 9, width + 11)).astype(precision)
    weights = rng.standard_normal(9).astype(precision)
    places = rng.permutation(9)
    for count in (0, 1, 4, 9):
        for column in (0, 3, 11):
            out = np.full(width + 11, 7, precision)
            add(values, 2, places, count, weights, column, out)
            some = places[:count]
            wanted = weights[some].astype(np.float64) @ values[2, some].astype(np.float64)
            inside = slice(column, column + width)
            tolerance = 1e-5 if precision is np.float32 else 1e-13
            np.testing.assert_allclose(out[inside], wanted[inside], atol=tolerance)
            out[inside] = 7
            assert (out == 7).all()


def test_a_row_that_is_not_finite_changes_its_own_column_alone():
    values = np.ones((1, 2, MANY), np.float32)
    for column in range(0, MANY, 7):
        values[:] = 1
        values[0, 1, column] = np.nan
        out = np.zeros(MANY, np.float32)
        read_many(values, 0, np.arange(2), 2, np.ones(2, np.float32), 0, out)
        assert np.isnan(out).nonzero()[0].tolist() == [column]
