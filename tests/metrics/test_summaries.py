"""Summary metrics: ROUGE as in the package rouge-score, distinct n-grams, words outside the vocabulary."""

from __future__ import annotations

import random

import numpy as np
import pytest

from regard.metrics import metric
from regard.metrics.copying import best_copies
from regard.metrics.distinct import Distinct

PAIRS = [
    ("Police kill the gunman", "police killed the gunman."),
    ("the gunman police killed", "police killed the gunman."),
    ("Stocks fall; oil at $50!", "Oil at $50: stocks fall"),
    ("don't look-back 1999", "dont look back in 1999"),
    ("", "something was said"),
    ("a b a b a", "a b a"),
    ("naïve café", "naive cafe"),
]
TRUTH = {
    "rouge1": [0.75, 1.0, 1.0, 0.6, 0.0, 0.75, 0.0],
    "rouge2": [1 / 3, 2 / 3, 0.75, 0.25, 0.0, 2 / 3, 0.0],
    "rougeL": [0.75, 0.5, 0.6, 0.6, 0.0, 0.75, 0.0],
}
"""F-measures of the pairs by rouge-score 0.1.2, RougeScorer(use_stemmer=False)."""


@pytest.mark.parametrize("kind", list(TRUTH))
def test_rouge_is_that_of_the_package(kind: str) -> None:
    predictions, references = [one for one, _ in PAIRS], [other for _, other in PAIRS]
    found = metric(kind)
    assert found.rows(predictions, references) == pytest.approx([100 * one for one in TRUTH[kind]])
    assert found(predictions, references).value == pytest.approx(100 * sum(TRUTH[kind]) / len(PAIRS))


@pytest.mark.parametrize("kind", list(TRUTH))
def test_rouge_is_that_of_the_package_on_texts_at_random(kind: str) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer([kind], use_stemmer=False)
    generator = random.Random(3)
    words = ["the", "Cat", "sat", "on", "mat.", "it's", "U.S.", "42", "über", "a-b", ",", "%"]
    texts = [" ".join(generator.choices(words, k=generator.randint(0, 9))) for _ in range(120)]
    pairs = [*PAIRS, *zip(texts[:60], texts[60:], strict=True)]
    found = metric(kind).rows([one for one, _ in pairs], [other for _, other in pairs])
    for (text, reference), value in zip(pairs, found, strict=True):
        assert value == pytest.approx(100 * scorer.score(reference, text)[kind].fmeasure, abs=1e-9)


def test_of_several_references_the_best_counts_for_each_row() -> None:
    found = metric("rouge1").rows(["the cat"], [["a dog", "the cat sat", "the"]])
    assert found == pytest.approx([80.0])


def test_distinct_counts_different_sequences_of_words() -> None:
    texts = ["a b a b", "a b c"]  # ab ba ab ab bc
    assert Distinct(1).of(texts).value == pytest.approx(3 / 7)
    assert Distinct(2).of(texts).value == pytest.approx(3 / 5)
    assert Distinct(3).of(texts).value == pytest.approx(3 / 3)
    assert Distinct(2).of([""]).value == 0.0
    assert metric("distinct2").name == "distinct2"


def test_a_word_is_copied_where_that_is_the_more_probable_way() -> None:
    assert best_copies(np.array([[0.2, 0.7], [0.3, 0.1], [0.0, 0.0]])) == [(1, 0)]
