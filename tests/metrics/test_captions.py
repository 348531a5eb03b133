"""Caption metrics: by hand, against sacrebleu, and against CIDEr-D written with plain vectors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import metrics
from regard.metrics import output_metric

PREDICTIONS = ["A red cat, sitting.", "the dog runs runs", "two boats"]
REFERENCES = [
    ["a red cat sitting", "The cat sits on a mat."],
    ["a dog runs", "the dog runs fast"],
    ["two boats on the sea"],
]


def test_words_of_a_caption_are_lower_cased_and_free_of_punctuation() -> None:
    text = "A man's well-known DOG, it seems (2 of them) — runs!"
    expected = ["a", "man's", "well-known", "dog", "it", "seems", "2", "of", "them", "runs"]
    assert metrics.caption_words(text) == expected


def test_bleu_of_captions_by_hand() -> None:
    # 10 predicted words: 4 + 3 (the second "runs" is clipped) + 2 = 9 are in a reference; bigrams 3 + 2 + 1
    # of 7. Closest reference lengths: 4 + 4 + 5 = 13 (the second row has references of 3 and 4), so BP =
    # exp(1 − 13/10).
    penalty = math.exp(1 - 13 / 10)
    first, second = 9 / 10, 6 / 7
    assert output_metric("bleu1")(PREDICTIONS, REFERENCES).value == pytest.approx(100 * penalty * first)
    expected = 100 * penalty * math.sqrt(first * second)
    assert output_metric("bleu2")(PREDICTIONS, REFERENCES).value == pytest.approx(expected)
    # trigrams: 2 of 2, 1 of 2, none; 4-grams: 1 of 2, of the first two rows
    expected = 100 * penalty * (first * second * (3 / 4) * (1 / 2)) ** 0.25
    assert output_metric("bleu4")(PREDICTIONS, REFERENCES).value == pytest.approx(expected)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_bleu_of_captions_is_sacrebleu_of_their_words(order: int) -> None:
    direct = sacrebleu.BLEU(max_ngram_order=order, tokenize="none", smooth_method="none")
    words = [" ".join(metrics.caption_words(text)) for text in PREDICTIONS]
    streams = [
        [" ".join(metrics.caption_words(row[place])) if place < len(row) else None for row in REFERENCES]
        for place in range(2)
    ]
    score = metrics.metric(f"bleu{order}")(PREDICTIONS, REFERENCES)
    assert score.value == pytest.approx(direct.corpus_score(words, streams).score)
    assert score.signature.startswith(f"BLEU-{order}, lower-cased words") and "nrefs:var" in score.signature


def test_token_bleu_keeps_case_and_commands() -> None:
    assert output_metric("token_bleu")([r"\frac { A } { b }"], [r"\frac { A } { b }"]).value == pytest.approx(
        100.0
    )
    # 6 of 7 tokens; bigrams 4 of 6; trigrams 2 of 5; 4-grams 1 of 4
    expected = 100 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25
    score = output_metric("token_bleu")([r"\frac { A } { b }"], [r"\frac { a } { b }"])
    assert score.value == pytest.approx(expected)


def test_cider_by_hand() -> None:
    # Two rows, one reference each; every n-gram occurs in one row alone, so its idf is log 2, which cancels.
    # Row one: unigrams "red cat" against "red hat": 1/2; bigram 0; no trigrams. Mean over four n: 1/8.
    # Row two: three words of three: 1, 1, 1, and no 4-gram: 3/4.
    score = output_metric("cider")(["red cat", "one blue dog"], ["red hat", "one blue dog"])
    assert score.value == pytest.approx(10 * (1 / 8 + 3 / 4) / 2)
    assert output_metric("cider").rows(
        ["red cat", "one blue dog"], ["red hat", "one blue dog"]
    ) == pytest.approx([10 / 8, 30 / 4])


def test_cider_of_the_references_themselves_is_10() -> None:
    texts = ["a red cat sits here", "some dogs run far away", "two boats on the sea"]
    assert output_metric("cider")(texts, texts).value == pytest.approx(10.0)
    # With a second reference that shares no word, the score is halved.
    several = [[text, "zig zag zug zog zeg"] for text in texts]
    assert output_metric("cider")(texts, several).value == pytest.approx(5.0, abs=1e-9)


def test_cider_gives_nothing_for_what_is_said_of_every_picture() -> None:
    references = ["a picture", "a picture", "a picture"]
    assert output_metric("cider")(references, references).value == 0.0


def test_cider_gives_nothing_for_repetition_and_less_for_length() -> None:
    references = ["red cat", "blue dog"]
    plain, repeated = (output_metric("cider").rows([text, "x"], references)[0] for text in ("red", "red red"))
    # One word too few: e^(−1/72) · (1/√2). Repeated word: e^0 · min(2, 1)·1 / (2·√2), unigrams only.
    assert plain == pytest.approx(10 / 4 * math.exp(-1 / 72) / math.sqrt(2))
    assert repeated == pytest.approx(10 / 4 / (2 * math.sqrt(2)))


def plain_cider(predictions: list[str], references: list[list[str]]) -> float:
    """The same from vectors over all n-grams."""
    vocabulary = sorted(
        {word for text in [*predictions, *itertools.chain(*references)] for word in text.split()}
    )
    scores = np.zeros(len(predictions))
    for n in (1, 2, 3, 4):
        grams = list(itertools.product(vocabulary, repeat=n))

        def counts(text: str, n: int = n, grams: list[tuple[str, ...]] = grams) -> np.ndarray:
            words = text.split()
            own = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
            return np.array([own.count(gram) for gram in grams], dtype=float)

        frequency = sum((sum(counts(text) for text in row) > 0).astype(float) for row in references)
        idf = np.log(len(references)) - np.log(np.maximum(frequency, 1.0))
        for place, (text, row) in enumerate(zip(predictions, references, strict=True)):
            g_c = counts(text) * idf
            for reference in row:
                g_s = counts(reference) * idf
                norms = np.linalg.norm(g_c) * np.linalg.norm(g_s)
                cosine = np.minimum(g_c, g_s) @ g_s / norms if norms > 0 else 0.0
                damp = np.exp(-((len(text.split()) - len(reference.split())) ** 2) / 72)
                scores[place] += 10 / 4 * damp * cosine / len(row)
    return float(scores.mean())


texts = st.lists(st.sampled_from("abc"), min_size=1, max_size=6).map(" ".join)
rows = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None)
@given(rows)
def test_cider_against_plain_vectors(corpus: list[tuple[str, list[str]]]) -> None:
    predictions, references = [text for text, _ in corpus], [row for _, row in corpus]
    assert output_metric("cider")(predictions, references).value == pytest.approx(
        plain_cider(predictions, references), abs=1e-9
    )
