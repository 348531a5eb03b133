"""Attachment scores and span F1, counted by hand."""

from __future__ import annotations

import pytest

from regard.metrics import output_metric

chunk_f1, exact_trees, las, las_no_punct, las_universal, uas, uas_no_punct = map(
    output_metric,
    ("chunk_f1", "exact_trees", "las", "las_no_punct", "las_universal", "uas", "uas_no_punct"),
)

TRUE = ["2:det 3:nsubj 0:root 3:punct", "0:root 3:case 1:nmod:of"]
FOUND = ["2:det 3:obj 0:root 2:punct", "0:root 3:case 1:nmod"]


def test_attachment_scores_counted_by_hand() -> None:
    assert uas(FOUND, TRUE).value == pytest.approx(6 / 7)
    assert las(FOUND, TRUE).value == pytest.approx(4 / 7)
    assert las_universal(FOUND, TRUE).value == pytest.approx(5 / 7)
    assert uas_no_punct(FOUND, TRUE).value == pytest.approx(6 / 6)
    assert las_no_punct(FOUND, TRUE).value == pytest.approx(4 / 6)
    assert exact_trees(FOUND, TRUE).value == pytest.approx(1 / 2)
    assert uas(TRUE, TRUE).value == las(TRUE, TRUE).value == exact_trees(TRUE, TRUE).value == 1.0


def test_missing_and_superfluous_words_are_wrong() -> None:
    assert uas(["2 0"], ["2 0 2"]).value == pytest.approx(2 / 3)
    assert uas(["2 0 2 2"], ["2 0 2"]).value == pytest.approx(3 / 4)


def test_span_f1_counted_by_hand() -> None:
    true = ["B-NP I-NP B-VP O B-NP"]
    found = ["B-NP I-NP O B-VP B-NP"]  # the VP is one token off
    assert chunk_f1(found, true).value == pytest.approx(2 * 2 / (3 + 3))
    assert chunk_f1(["O O"], ["O O"]).value == 0.0
    assert chunk_f1(["I-A I-A O"], ["B-A E-A O"]).value == 1.0, "the scheme does not matter, the spans do"


def test_sums_over_the_corpus_not_means_over_rows() -> None:
    score = chunk_f1(["B-A", "O O O"], ["B-A", "B-A B-A B-B"])
    assert score.value == pytest.approx(2 * 1 / (1 + 4))
    assert uas(["0", "0 1 2"], ["0", "2 3 0"]).value == pytest.approx(1 / 4)


def test_lists_of_tags_and_arcs_are_values_too() -> None:
    tags = output_metric("tag_accuracy")([["N", "V"], ["D"]], [[["N", "N"], ["N", "V"]], [["D"]]])
    assert (tags.value, tags.signature) == (1.0, "share of positions right|refs:var")
    assert uas([["2:det", "0:root"]], [[["2:nsubj", "0:root"]]]).value == 1.0
    assert output_metric("exact")([["B-A", "O"], ["O"]], [[["B-A", "O"]], [["B-A"]]]).value == 0.5
