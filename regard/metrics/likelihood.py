"""Likelihood: the probability that the model assigns to the true outputs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from regard.errors import RegardError
from regard.metrics.metric import Inference, Metric, Score
from regard.parts import register

PERPLEXITY = "exp(mean -log p)|per item, end included"


@register("metric", "loss")
class NegativeLogLikelihood(Metric):
    """The mean −log p of the true output per item, in nats."""

    higher_is_better = False

    def measure(self, inference: Inference) -> Score:
        total, count = inference.once(_likelihood)
        signature = f"−log p per item, nats, no smoothing{_left_out(inference)}"
        return Score(self.name, total / count if count else 0.0, len(inference), signature)


@register("metric", "perplexity")
class Perplexity(Metric):
    """exp of the mean −log p per item; the end of a sequence counts as an item."""

    higher_is_better = False

    def measure(self, inference: Inference) -> Score:
        total, count = inference.once(_likelihood)
        left_out = _left_out(inference)
        if not count and left_out:
            return Score(self.name, 1.0, 0, PERPLEXITY + left_out)
        found = perplexity(total, count)
        if inference.output.column.alone:
            return replace(found, signature="exp(mean -log p)|per token, state carried through the text")
        return replace(found, signature=found.signature + left_out)


@register("metric", "bits_per_character")
class BitsPerCharacter(Metric):
    """−log₂ p of a whole text per character, whatever its units."""

    higher_is_better = False
    suits = ("stream",)
    base = 2.0

    def measure(self, inference: Inference) -> Score:
        total, _ = inference.once(_likelihood)
        characters = inference.once(_characters)
        value = total / math.log(self.base) / max(characters, 1)
        told = "bits" if self.base == 2.0 else "nats"
        return Score(self.name, value, characters, f"−log p in {told} ÷ characters of the text")


@register("metric", "nats_per_character")
class NatsPerCharacter(BitsPerCharacter):
    """−log p of a whole text per character, whatever its units."""

    base = math.e


def _characters(inference: Inference) -> int:
    column: Any = inference.output.column
    return sum(column.characters(inference.raw(row)[column.name]) for row in range(len(inference)))


def _left_out(inference: Inference) -> str:
    """The items that the likelihood leaves out: classes that the training data lack have none."""
    column = inference.output.column
    if column.alone or not column.classed:
        return ""
    rows = sum(bool(column.unseen(inference.raw(row)[column.name])) for row in range(len(inference)))
    return f"|without what training never saw, in {rows:,} of {len(inference):,} rows" if rows else ""


def _likelihood(inference: Inference) -> tuple[float, float]:
    return inference.likelihood()


def perplexity(negative_log_likelihood: float, items: float) -> Score:
    """exp of the mean −log p (natural) per item; items: their number, or the sum of their weights."""
    if items <= 0:
        raise RegardError("perplexity needs at least one item, received none.")
    mean = negative_log_likelihood / items
    value = math.exp(mean) if mean < 700.0 else math.inf
    return Score("perplexity", value, round(items), PERPLEXITY)
