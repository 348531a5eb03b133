"""Unsupervised heads, and the share before the first error, counted by hand."""

from __future__ import annotations

import pytest

from regard.errors import RegardError
from regard.metrics import branching_baselines, latent_uas, output_metric

TREES = [[2, 3, 0, 3], [0, 1]]


def test_uas_counts_words_not_rows() -> None:
    assert latent_uas([[2, 3, 0, 1], [0, 0]], TREES).value == pytest.approx(4 / 6)


def test_baselines_by_hand() -> None:
    reached = {name: score.value for name, score in branching_baselines(TREES).items()}
    # left-branching 2 3 4 0 and 2 0; right-branching 0 1 2 3 and 0 1; of n heads one is right by chance
    assert reached["left-branching"] == pytest.approx(2 / 6)
    assert reached["right-branching"] == pytest.approx(3 / 6)
    assert reached["random heads"] == pytest.approx((4 / 4 + 2 / 2) / 6)


def test_rows_of_other_lengths_are_refused() -> None:
    with pytest.raises(RegardError, match="as many heads"):
        latent_uas([[0]], [[0, 1]])


@pytest.mark.parametrize(
    ("written", "share"),
    [("a b c d", 1.0), ("a b x d", 0.5), ("x b c d", 0.0), ("a b", 0.5), ("a b c d e", 1.0), ("", 0.0)],
)
def test_share_before_the_first_mistake(written: str, share: float) -> None:
    assert output_metric("before_failure")([written], ["a b c d"]).value == share


def test_the_mean_is_over_rows_and_the_best_reference_counts() -> None:
    assert output_metric("before_failure")(
        ["a b", "a x"], [["a b"], ["a b c d", "a x y y"]]
    ).value == pytest.approx(0.75)
