"""Segment F1, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from regard.errors import RegardError
from regard.metrics import Threshold, best_threshold, segment_f1

# Two target words over four positions: the first is from positions 0 and 1, the second from 3; a third is
# unaligned.
WEIGHTS = np.array([[0.6, 0.3, 0.1, 0.0], [0.2, 0.0, 0.3, 0.5], [1.0, 1.0, 1.0, 1.0]])
LINKS = {(0, 0), (1, 0), (3, 1)}


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (0.5, 2 * 2 / (2 + 3)),  # positions 0 and 3 are found, position 1 is missed
        (0.3, 2 * 3 / (4 + 3)),  # all three, and one too many
        (0.0, 2 * 3 / (8 + 3)),
        (0.9, 0.0),
    ],
)
def test_f1_at_a_threshold(threshold, expected):
    score = segment_f1([WEIGHTS], [LINKS], Threshold(threshold, "dev"))
    assert score.value == pytest.approx(expected)
    assert f"≥ {threshold:g} chosen on dev" in score.signature


def test_rows_are_counted_together():
    nothing = np.array([[0.4, 0.4]])
    score = segment_f1([WEIGHTS, nothing], [LINKS, {(0, 0)}], Threshold(0.5, "dev"))
    assert score.value == pytest.approx(2 * 2 / (2 + 4)) and score.n == 2


def test_the_best_threshold_is_the_best_of_all():
    generator = np.random.default_rng(0)
    tables = [generator.random((3, 5)).round(1) for _ in range(4)]
    links = [
        {(s, t) for t in range(3) for s in range(5) if table[t, s] + generator.normal() / 3 > 0.6} | {(0, 0)}
        for table in tables
    ]
    chosen = best_threshold(tables, links)
    tried = {t: segment_f1(tables, links, Threshold(t, "")).value for t in np.arange(0.05, 1, 0.05).round(3)}
    assert segment_f1(tables, links, chosen).value == pytest.approx(max(tried.values()))


def test_weights_that_add_nothing_are_not_looked_at():
    ranked = np.array(
        [[1.0, 1e-9, 1e-12]]
    )  # the scores rank correctly, but the weights attend to one position
    links = [{(0, 0), (1, 0)}]
    assert segment_f1([ranked], links, best_threshold([ranked], links)).value == pytest.approx(2 / 3)


def test_nothing_to_measure_is_said():
    with pytest.raises(RegardError, match="nothing to measure"):
        segment_f1([WEIGHTS], [set()], Threshold(0.5, "dev"))
    with pytest.raises(RegardError, match="as many"):
        segment_f1([WEIGHTS], [], Threshold(0.5, "dev"))
