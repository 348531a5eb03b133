"""Attention to evidence: the most attended sentence and words of a document, compared with those that decide the
answer.

The sentence with the largest weight is correct if it contains a decisive word. For words, take as many as are decisive,
those with the largest weight (weight of the sentence × weight of the word within it); precision is the share of them
that is decisive. Ties go to the first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from regard.errors import RegardError
from regard.metrics.metric import Inference, Metric, OutputInfo, Score
from regard.parts import register
from regard.trace import SentenceWords


class EvidenceMetric(Metric):
    """A metric of attention to a document whose decisive words are known."""

    baseline_name = "chance level"

    def refuses(self, output: OutputInfo) -> str | None:
        if output.known("evidence", attended=True):
            return None
        if output.known("evidence"):
            return (
                f"{self.name} measures attention; the decoder of {output.name!r} has none over the document"
            )
        return (
            f"{self.name} needs the words that decide {output.name!r}, a column of type evidence in `truth`"
        )


@register("metric", "key_sentence")
class KeySentence(EvidenceMetric):
    """How often the most attended sentence contains a decisive word. Baseline: a random sentence."""

    def measure(self, inference: Inference) -> Score | None:
        found = inference.once(read_documents)
        return (
            key_sentence([_sentences(one) for one in found], [_true(one) for one in found]) if found else None
        )

    def baseline(self, inference: Inference) -> Score | None:
        found = inference.once(read_documents)
        if not found:
            return None
        chance = float(np.mean([np.mean(_true(one) > 0) for one in found]))
        return Score("key_sentence", chance, len(found), "a sentence at random")


@register("metric", "key_words")
class KeyWords(EvidenceMetric):
    """The share of decisive words among the most attended ones, of which as many are taken. Baseline: random words."""

    def measure(self, inference: Inference) -> Score | None:
        found = [one for one in inference.once(read_documents) if one.weights is not None]
        if not found:
            return None
        return key_words([one.shares for one in found], [one.truth for one in found])  # type: ignore[misc]

    def baseline(self, inference: Inference) -> Score | None:
        found = [one.truth for one in inference.once(read_documents) if one.truth is not None]
        if not found:
            return None
        # Among W words with k decisive ones, k random words include k²/W decisive ones on average.
        chance = sum(float(truth.sum()) ** 2 / len(truth) for truth in found) / sum(map(np.sum, found))
        return Score("key_words", chance, len(found), "words at random")


def read_documents(inference: Inference) -> list[SentenceWords]:
    """The attention to each document whose decisive words are known."""
    found = []
    for name in inference.output.known("evidence", attended=True):
        for _, trace in inference.traces(structures=True):
            one = trace.structures.get(name)
            if (
                isinstance(one, SentenceWords)
                and one.truth is not None
                and one.truth.any()
                and one.sentences is not None
            ):
                found.append(one)
    return found


def _sentences(words: SentenceWords) -> ArrayLike:
    return words.sentences if words.sentences is not None else np.zeros(len(words.counts))


def _true(words: SentenceWords) -> np.ndarray:
    """(S,) the number of decisive words in each sentence."""
    truth = np.zeros(len(words.words)) if words.truth is None else words.truth
    return np.array([truth[low:high].sum() for low, high in words.bounds])


def key_sentence(weights: Sequence[ArrayLike], truth: Sequence[ArrayLike]) -> Score:
    """weights, truth (S,) of each document; truth is above 0 for the true sentences."""
    _check(weights, truth)
    pairs = [(np.asarray(looked), np.asarray(true)) for looked, true in zip(weights, truth, strict=True)]
    right = sum(bool(true[looked.argmax()] > 0) for looked, true in pairs)
    return Score(
        "key_sentence", right / len(pairs), len(pairs), "most attended sentence holds a word that decides"
    )


def key_words(weights: Sequence[ArrayLike], truth: Sequence[ArrayLike]) -> Score:
    """weights, truth (W,) of each document; truth is above 0 for the true words."""
    _check(weights, truth)
    right = total = 0
    for looked, true in zip(weights, truth, strict=True):
        wanted = np.asarray(true) > 0
        count = int(wanted.sum())
        most = np.argsort(-np.asarray(looked, dtype=np.float64), kind="stable")[:count]
        right += int(wanted[most].sum())
        total += count
    return Score("key_words", right / max(total, 1), len(truth), "most attended words, as many as decide")


def _check(weights: Sequence[object], truth: Sequence[object]) -> None:
    if len(weights) != len(truth) or not len(truth):
        raise RegardError(
            f"expected as many documents with attention as with evidence, received {len(weights)} and {len(truth)}."
        )
