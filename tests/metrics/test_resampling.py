"""Scores by length, confidence intervals and significance."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu
from scipy import stats

from regard import metrics
from regard.errors import RegardError
from regard.metrics import output_metric


def coin(n: int, share: float, seed: int) -> list[str]:
    return ["right" if value < share else "wrong" for value in np.random.default_rng(seed).random(n)]


def test_each_bucket_is_the_metric_on_its_rows() -> None:
    predictions = ["a b c d x", "a b c d e", "a b", "f g h i j k", "f g h i q k"]
    references = ["a b c d e", "a b c d e", "a c", "f g h i j k", "f g h i j k"]
    lengths = [5, 5, 2, 6, 9]
    table = metrics.by_length(metrics.BLEU(), predictions, references, lengths, edges=[3, 5, 7])
    assert [(label, n) for label, n, *_ in table.table()] == [("2–3", 1), ("4–5", 2), ("6–7", 1), ("8–9", 1)]
    middle = sacrebleu.corpus_bleu(predictions[:2], [references[:2]]).score
    assert table.buckets[1].value == pytest.approx(middle, abs=1e-9)
    assert table.points[1] == (5.0, pytest.approx(middle, abs=1e-9))
    assert "8–9" in str(table) and "bleu" in str(table)


def test_buckets_of_equal_width_cover_every_row_once() -> None:
    lengths = [1, 2, 3, 10, 11, 40]
    table = metrics.by_length(output_metric("exact"), ["a"] * 6, ["a"] * 5 + ["b"], lengths, buckets=4)
    assert sum(bucket.n for bucket in table.buckets) == 6
    assert table.buckets[0].low == 1 and table.buckets[-1].high == 40 and table.buckets[-1].value == 0.0
    for left, right in zip(table.buckets, table.buckets[1:], strict=False):
        assert left.high < right.low
    single = metrics.by_length(output_metric("exact"), ["a"], ["a"], [7])
    assert single.table()[0][:3] == ("7", 1, 1.0) and "one row, no interval" in str(single)
    with pytest.raises(RegardError, match="a length for each of 1"):
        metrics.by_length(output_metric("exact"), ["a"], ["a"], [7, 8])


def test_the_interval_of_each_bucket_agrees_with_the_binomial() -> None:
    predictions, lengths = coin(600, 0.7, seed=4), [3] * 400 + [9] * 200
    table = metrics.by_length(output_metric("exact"), predictions, ["right"] * 600, lengths, edges=[5])
    for bucket, rows in zip(table.buckets, (predictions[:400], predictions[400:]), strict=True):
        expected = stats.binom.ppf([0.025, 0.975], len(rows), rows.count("right") / len(rows)) / len(rows)
        assert bucket.interval == pytest.approx(tuple(expected), abs=0.015)
        assert bucket.interval[0] < bucket.value < bucket.interval[1]


def test_the_interval_of_a_share_agrees_with_the_binomial() -> None:
    predictions = coin(400, 0.7, seed=3)
    interval = metrics.confidence_interval(output_metric("exact"), predictions, ["right"] * 400, samples=4000)
    hits = predictions.count("right")
    low, high = stats.binom.ppf([0.025, 0.975], 400, hits / 400) / 400
    assert interval.value == hits / 400
    assert interval.low == pytest.approx(low, abs=0.006) and interval.high == pytest.approx(high, abs=0.006)


def test_the_interval_of_bleu_is_that_of_bleu_on_resampled_texts() -> None:
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(12)]
    references = [" ".join(generator.choice(words, size=9)) for _ in range(30)]
    predictions = [
        " ".join(word if generator.random() < 0.85 else "other" for word in row.split()) for row in references
    ]
    interval = metrics.confidence_interval(metrics.BLEU(), predictions, references, samples=200, seed=5)
    drawn = np.random.default_rng(5).integers(30, size=(200, 30))
    values = [
        sacrebleu.corpus_bleu([predictions[row] for row in rows], [[references[row] for row in rows]]).score
        for rows in drawn
    ]
    assert (interval.low, interval.high) == pytest.approx(tuple(np.percentile(values, [2.5, 97.5])))
    assert interval == metrics.confidence_interval(
        metrics.BLEU(), predictions, references, samples=200, seed=5
    )


def test_a_clear_difference_is_significant_and_none_is_not() -> None:
    truth = ["right"] * 500
    weak, strong = coin(500, 0.6, seed=1), coin(500, 0.75, seed=2)
    better = metrics.compare(output_metric("exact"), weak, strong, truth)
    assert better.p_value < 0.01 and better.difference.low > 0 and better.wins > 0.99
    worse = metrics.compare(output_metric("word_error"), strong, weak, truth)
    assert worse.difference.value == pytest.approx(better.difference.value) and worse.wins < 0.01
    same = metrics.compare(output_metric("exact"), weak, list(weak), truth)
    assert same.p_value == 1.0 and same.difference.value == 0.0 and same.wins == 0.0


def test_the_test_is_honest_about_equal_systems() -> None:
    """Among pairs of equally good systems, about one in twenty differs with p ≤ 0.05."""
    truth = ["right"] * 120
    pairs = [(coin(120, 0.7, 2 * trial + 100), coin(120, 0.7, 2 * trial + 101)) for trial in range(150)]
    found = sum(
        metrics.compare(output_metric("exact"), one, two, truth, samples=200).p_value <= 0.05
        for one, two in pairs
    )
    low, high = stats.binom.ppf([0.001, 0.999], 150, 0.05)
    assert low <= found <= high
