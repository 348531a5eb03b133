"""The pointing game, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from regard.errors import RegardError
from regard.metrics import center_pointing, pointing
from regard.metrics.pointing import middle


def test_hits_are_counted_over_the_steps_whose_place_is_known():
    weights = [
        np.array([[0.1, 0.8, 0.1], [0.4, 0.3, 0.3], [0.2, 0.2, 0.6]]),
        np.array([[0.5, 0.25, 0.25]]),
    ]
    truth = [
        np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),  # hit, unknown, missed
        np.array([[1.0, 0.0, 0.0]]),  # hit
    ]
    score = pointing(weights, truth)
    assert score.value == pytest.approx(2 / 3) and score.n == 3


def test_the_middle_of_a_grid():
    assert middle((3, 5)).tolist() == [7]
    assert middle((2, 4)).tolist() == [1, 2, 5, 6]
    assert middle((4,)).tolist() == [1, 2]


def test_what_a_guess_at_the_middle_gets():
    grid = np.zeros((2, 12))  # 3 × 4: the center is between 5 and 6
    grid[0, 5] = 1  # half a hit
    grid[1, 0] = 1
    line = np.array([[0.0, 1.0, 0.0]])
    score = center_pointing([grid, line], [(3, 4), (3,)])
    assert score.value == pytest.approx((0.5 + 0 + 1) / 3) and score.n == 3


def test_nothing_known_is_nothing_counted():
    assert pointing([np.ones((2, 4))], [np.zeros((2, 4))]).n == 0


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(RegardError, match=r"\(1, 3\) and \(1, 4\)"):
        pointing([np.ones((1, 3))], [np.ones((1, 4))])
    with pytest.raises(RegardError, match="as many rows"):
        pointing([], [np.ones((1, 4))])
