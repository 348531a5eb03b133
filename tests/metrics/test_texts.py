"""Text metrics against sacrebleu, plain dynamic programming, and sums by hand."""

from __future__ import annotations

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from regard import metrics
from regard.errors import RegardError
from regard.metrics import output_metric

PREDICTIONS = [
    "The cat sat on the mat.",
    "A dog barks, loudly!",
    "nothing in common here at all",
    "She goes home now.",
]
REFERENCES = [
    ["The cat sat on a mat.", "A cat was sitting on the mat."],
    ["A dog barks loudly."],
    ["quite different words"],
    ["She goes home now.", "She is going home.", "Now she goes home."],
]
STREAMS = [
    [row[place] if place < len(row) else None for row in REFERENCES]
    for place in range(max(map(len, REFERENCES)))
]


def test_bleu_is_sacrebleu_with_its_signature() -> None:
    score = metrics.BLEU()(PREDICTIONS, REFERENCES)
    direct = sacrebleu.BLEU()
    assert score.value == pytest.approx(direct.corpus_score(PREDICTIONS, STREAMS).score, abs=1e-9)
    assert score.signature == str(direct.get_signature()) and "nrefs:var" in score.signature
    assert (score.name, score.n) == ("bleu", 4)


def test_bleu_of_one_reference_and_of_other_settings() -> None:
    first = [row[0] for row in REFERENCES]
    direct = sacrebleu.BLEU(lowercase=True, tokenize="char")
    score = metrics.BLEU(lowercase=True, tokenize="char")(PREDICTIONS, first)
    assert score.value == pytest.approx(direct.corpus_score(PREDICTIONS, [first]).score, abs=1e-9)
    assert score.signature == str(direct.get_signature()) and "nrefs:1" in score.signature


@pytest.mark.parametrize("word_order", [0, 2])
def test_chrf_is_sacrebleu(word_order: int) -> None:
    score = metrics.ChrF(word_order=word_order)(PREDICTIONS, REFERENCES)
    direct = sacrebleu.CHRF(word_order=word_order)
    assert score.value == pytest.approx(direct.corpus_score(PREDICTIONS, STREAMS).score, abs=1e-9)
    assert score.signature == str(direct.get_signature())


def test_bleu_of_the_reference_is_100_and_of_strangers_0() -> None:
    assert metrics.BLEU()(["a b c d e"], ["a b c d e"]).value == pytest.approx(100.0)
    assert metrics.BLEU()(["v w x y z"], ["a b c d e"]).value == 0.0


def test_exact_match_with_any_reference() -> None:
    assert output_metric("exact")(["a", "b", "c"], [["x", "a"], ["b"], ["d", "e"]]).value == pytest.approx(
        2 / 3
    )
    assert output_metric("word_error")(
        ["a", "b", "c"], [["x", "a"], ["b"], ["d", "e"]]
    ).value == pytest.approx(1 / 3)
    assert not output_metric("word_error").higher_is_better


def test_phoneme_error_rate_by_hand() -> None:
    # "hello": one substitution against the second of its pronunciations (4 phonemes); "read": right; "a": one
    # insertion
    predictions = ["HH AH L UW", "R EH D", "AH AH"]
    references = [["HH EH L OW Z", "HH AH L OW"], ["R IY D", "R EH D"], ["AH"]]
    score = output_metric("per")(predictions, references)
    assert score.value == pytest.approx((1 + 0 + 1) / (4 + 3 + 1))
    assert score.n == 3
    assert score.signature == "phoneme edits / phonemes of the nearest|refs:var"


def test_of_equally_near_references_the_longer_counts() -> None:
    assert output_metric("per")(["A B"], [["A", "A B C"]]).value == pytest.approx(1 / 3)


def test_word_and_character_error_rate_by_hand() -> None:
    # kitten → sitting: 3 edits over 7 characters; as words 1 over 1
    assert output_metric("cer")(["kitten"], ["sitting"]).value == pytest.approx(3 / 7)
    assert output_metric("wer")(["kitten"], ["sitting"]).value == 1.0
    assert output_metric("wer")(
        ["the cat sat down here", "yes"], ["the cat down there", "yes"]
    ).value == pytest.approx(2 / 5)
    assert output_metric("wer")(["a b c"], ["a"]).value == 2.0


def plain_distance(one: list[str], two: list[str]) -> int:
    table = [[max(i, j) if 0 in (i, j) else 0 for j in range(len(two) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(two) + 1):
            change = table[i - 1][j - 1] + (one[i - 1] != two[j - 1])
            table[i][j] = min(change, table[i - 1][j] + 1, table[i][j - 1] + 1)
    return table[-1][-1]


words = st.lists(st.sampled_from(["ab", "a", "ba", "b"]), min_size=1, max_size=7)


@given(words, st.lists(words, min_size=1, max_size=3))
def test_word_error_rate_against_the_plain_recurrence(
    prediction: list[str], references: list[list[str]]
) -> None:
    score = output_metric("wer")([" ".join(prediction)], [[" ".join(row) for row in references]])
    distances = [(plain_distance(prediction, row), -len(row)) for row in references]
    distance, negative = min(distances)
    assert score.value == pytest.approx(distance / -negative)


def test_nothing_predicted_and_nothing_expected() -> None:
    assert output_metric("per")([""], [""]).value == 0.0
    assert output_metric("per")([""], ["A B"]).value == 1.0
    assert output_metric("per")(["A"], [""]).value == float("inf")


def test_tags_are_compared_place_by_place() -> None:
    assert output_metric("tag_accuracy")(["N V N", "D N"], ["N V D", "D N"]).value == pytest.approx(4 / 5)
    assert output_metric("tag_accuracy")(["N V"], ["N V D"]).value == pytest.approx(2 / 3)
    assert output_metric("tag_accuracy")(["N V D X"], ["N V D"]).value == pytest.approx(3 / 4)


def test_rows_are_measured_alone() -> None:
    assert output_metric("wer").rows(["a b", "c"], ["a x", "c"]) == [0.5, 0.0]


def test_perplexity_of_a_fair_die_is_six() -> None:
    import math

    score = metrics.perplexity(60 * math.log(6), 60)
    assert score.value == pytest.approx(6.0)
    with pytest.raises(RegardError, match="at least one item"):
        metrics.perplexity(0.0, 0)


def test_names_lead_to_metrics_with_their_direction() -> None:
    for name in metrics.metric_names():
        assert metrics.metric(name).name == name
    lower = {name for name in metrics.metric_names() if not metrics.metric(name).higher_is_better}
    rates = {"wer", "cer", "per", "token_error", "word_error", "aer"}
    assert lower == rates | {
        "loss",
        "cross_entropy",
        "perplexity",
        "bits_per_character",
        "nats_per_character",
        "absolute_error",
        "rank_error",
        "rmse",
        "tour_length",
        "malformed",
        "bit_error",
    }
    with pytest.raises(RegardError, match=r"no metric 'blue'.*Did you mean bleu\?"):
        metrics.metric("blue")
    with pytest.raises(RegardError, match="aer cannot be computed from the outputs alone"):
        output_metric("aer")


@pytest.mark.parametrize(
    ("predictions", "references", "words"),
    [
        (["a"], ["a", "b"], "1 predictions and 2 rows"),
        ([], [], "nothing to measure"),
        (["a"], [[]], "row 1: this row has no reference"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    predictions: list[str], references: list[str], words: str
) -> None:
    with pytest.raises(RegardError, match=words):
        output_metric("exact")(predictions, references)
