"""Metrics on random outputs, many of them empty or tied, against sacrebleu, scikit-learn where it is installed,
and formulas written independently."""

from __future__ import annotations

import math
from collections import Counter
from importlib.util import find_spec

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import metrics
from regard.metrics import output_metric

texts = st.lists(st.sampled_from(["a", "b", "cat", "dog", "."]), max_size=6).map(" ".join)
corpora = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=2)), min_size=1, max_size=4)
Corpus = list[tuple[str, list[str]]]


@settings(max_examples=60)
@given(corpora)
def test_bleu_and_chrf_are_sacrebleu_s(corpus: Corpus) -> None:
    predictions, references = [one for one, _ in corpus], [several for _, several in corpus]
    longest = max(map(len, references))
    streams = [[row[place] if place < len(row) else None for row in references] for place in range(longest)]
    for ours, theirs in ((metrics.BLEU(), sacrebleu.BLEU()), (metrics.ChrF(), sacrebleu.CHRF())):
        expected = theirs.corpus_score(predictions, streams).score
        assert ours(predictions, references).value == pytest.approx(expected, rel=1e-9, abs=1e-9)


def edits(one: str, two: str) -> int:
    """Levenshtein's distance, by recursion over all ways to edit."""
    known: dict[tuple[int, int], int] = {}

    def distance(i: int, j: int) -> int:
        if 0 in (i, j):
            return i + j
        if (i, j) not in known:
            change = distance(i - 1, j - 1) + (one[i - 1] != two[j - 1])
            known[i, j] = min(change, distance(i - 1, j) + 1, distance(i, j - 1) + 1)
        return known[i, j]

    return distance(len(one), len(two))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.text("ab ", max_size=6), st.text("abc", max_size=6)), min_size=1, max_size=4))
def test_character_error_rate(pairs: list[tuple[str, str]]) -> None:
    total = sum(edits(one, two) for one, two in pairs)
    length = sum(len(two) for _, two in pairs)
    expected = total / length if length else (math.inf if total else 0.0)
    found = output_metric("cer")([one for one, _ in pairs], [two for _, two in pairs]).value
    assert found == pytest.approx(expected)


def f1(pairs: list[tuple[str, str]], label: str) -> float:
    right = sum(one == two == label for one, two in pairs)
    said, true = (sum(pair[place] == label for pair in pairs) for place in (0, 1))
    return 2 * right / (said + true) if said + true else 0.0


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1, max_size=9))
def test_accuracy_and_f1_of_labels(pairs: list[tuple[str, str]]) -> None:
    predicted, true = [one for one, _ in pairs], [two for _, two in pairs]
    result, labels = metrics.classification(predicted, true), sorted({*predicted, *true})
    counts = Counter(true)
    assert result.accuracy == pytest.approx(sum(one == two for one, two in pairs) / len(pairs))
    assert output_metric("accuracy")(predicted, true).value == pytest.approx(result.accuracy)
    assert result.macro.f1 == pytest.approx(sum(f1(pairs, label) for label in labels) / len(labels))
    weighted = sum(counts[label] * f1(pairs, label) for label in labels) / len(pairs)
    assert result.weighted.f1 == pytest.approx(weighted)
    if find_spec("sklearn") is not None:
        from sklearn import metrics as theirs  # type: ignore[import-not-found, import-untyped]

        assert result.confusion.tolist() == theirs.confusion_matrix(true, predicted, labels=labels).tolist()
        for average, mine in (("macro", result.macro), ("weighted", result.weighted)):
            expected = theirs.precision_recall_fscore_support(
                true, predicted, labels=labels, average=average, zero_division=0.0
            )
            assert (mine.precision, mine.recall, mine.f1) == pytest.approx(expected[:3])


numbers = st.floats(-100, 100).map(lambda number: round(number, 3))


@settings(max_examples=40)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6))
def test_errors_of_numbers(pairs: list[tuple[float, float]]) -> None:
    predicted, true = [one for one, _ in pairs], [two for _, two in pairs]
    errors = [abs(one - two) for one, two in pairs]
    root = math.sqrt(sum(error**2 for error in errors) / len(errors))
    assert output_metric("absolute_error")(predicted, true).value == pytest.approx(sum(errors) / len(errors))
    assert output_metric("rmse")(predicted, true).value == pytest.approx(root)


def spans(tags: list[str]) -> set[tuple[int, int, str]]:
    """The spans of BIO tags, as conlleval reads them: an I without a beginning begins a span."""
    found, start, kind = set(), 0, ""
    for place, tag in enumerate([*tags, "O"]):
        mark, _, name = tag.partition("-")
        if kind and (mark != "I" or name != kind):
            found.add((start, place, kind))
            kind = ""
        if mark in ("B", "I") and not kind:
            start, kind = place, name
    return found


tag = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(tag, tag), min_size=1, max_size=6), min_size=1, max_size=3))
def test_f1_of_spans(rows: list[list[tuple[str, str]]]) -> None:
    predicted, true = ([[pair[place] for pair in row] for row in rows] for place in (0, 1))
    pairs = [(spans(one), spans(two)) for one, two in zip(predicted, true, strict=True)]
    right = sum(len(one & two) for one, two in pairs)
    said, there = (sum(len(pair[place]) for pair in pairs) for place in (0, 1))
    expected = 2 * right / (said + there) if right else 0.0
    found = output_metric("chunk_f1")([" ".join(row) for row in predicted], [" ".join(row) for row in true])
    assert found.value == pytest.approx(expected)
