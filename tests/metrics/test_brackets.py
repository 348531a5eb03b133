"""Bracket F1 by the rules of EVALB, counted by hand; labels of nodes."""

from __future__ import annotations

import pytest

from regard.metrics import metric

GOLD = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NNP Ann))))"
LINEAR = "(S (NP XX XX )NP (VP XX (NP XX )NP )VP )S"


@pytest.mark.parametrize(
    ("found", "true", "value"),
    [
        (GOLD, GOLD, 1.0),
        (LINEAR, LINEAR, 1.0),
        # 4 true brackets, 3 predicted, all 3 right: 2 · 3 / 7; (NNP Ann) alone is a tag
        ("(S (NP (DT the) (NN dog)) (VP (VBD saw) (NNP Ann)))", GOLD, 6 / 7),
        # the label counts: S, VP and one NP match, of 4 and 4
        ("(S (NP (DT the) (NN dog)) (VP (VBD saw) (PP (NNP Ann))))", GOLD, 6 / 8),
        # other tags and other words change nothing
        ("(S (NP (X a) (Y b)) (VP (Z c) (NP (W d))))", GOLD, 1.0),
        # TOP, ROOT and an empty root are left out
        (f"(TOP {GOLD})", GOLD, 1.0),
        (f"( {GOLD})", f"(ROOT {GOLD})", 1.0),
        # a multiset: one NP over the two words matches one of the two true ones
        ("(NP (DT the) (NN dog))", "(NP (NP (DT the) (NN dog)))", 2 / 3),
        # crossing brackets: only S matches, of 3 and 3
        ("(S (A XX XX )A (B XX )B )S", "(S (A XX )A (B XX XX )B )S", 2 / 6),
        # invalid trees: a bracket not closed, or closed by another label; too few words; words outside
        ("(S (NP XX XX )NP (VP XX (NP XX )NP )VP", LINEAR, 0.0),
        ("(S (NP XX XX )VP (VP XX (NP XX )NP )NP )S", LINEAR, 0.0),
        ("(S (NP XX )NP (VP XX (NP XX )NP )VP )S", LINEAR, 0.0),
        ("XX XX XX XX", LINEAR, 0.0),
        ("", LINEAR, 0.0),
    ],
)
def test_bracket_f1(found: str, true: str, value: float) -> None:
    assert float(metric("bracket_f1")([found], [true])) == pytest.approx(value)
    assert float(metric("malformed")([found], [true])) == float(value == 0)


def test_brackets_without_labels() -> None:
    other = "(A (B (DT the) (NN dog)) (C (VBD saw) (NP (NNP Ann))))"
    assert float(metric("unlabeled_bracket_f1")([other], [GOLD])) == 1.0
    assert float(metric("bracket_f1")([other], [GOLD])) == pytest.approx(2 / 8)
    # the two nodes over one word are two brackets: one of them is missing
    assert float(
        metric("unlabeled_bracket_f1")(["(S (A (X a)) b)"], ["(S (B (A (X a))) b)"])
    ) == pytest.approx(4 / 5)


def test_brackets_are_summed_over_sentences() -> None:
    score = metric("bracket_f1")([LINEAR, "(S XX"], [LINEAR, "(S (NP XX )NP )S"])
    assert float(score) == pytest.approx(2 * 4 / (4 + 4 + 2))
    assert float(metric("malformed")([LINEAR, "(S XX"], [LINEAR, "(S (NP XX )NP )S"])) == 0.5


def test_labels_of_nodes() -> None:
    true = ["(3 (2 It) (4 (4 works) well))", "(1 (1 bad) (0 film))"]
    found = ["(4 (2 It) (4 (3 works) (2 well)))", "(1 (1 bad) (2 film))"]
    assert float(metric("node_accuracy")(found, true)) == pytest.approx((2 + 2) / (4 + 3))
    assert float(metric("root_accuracy")(found, true)) == 0.5
    assert float(metric("node_accuracy")(["(1 bad)", "nothing"], true)) == 0.0
