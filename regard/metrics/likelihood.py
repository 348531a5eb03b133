"""Likelihood: how probable the model finds the true outputs."""

from __future__ import annotations

import math

from regard.errors import RegardError
from regard.metrics.inference import Inference
from regard.metrics.metric import Metric, Score
from regard.parts import register


@register("metric", "loss")
class NegativeLogLikelihood(Metric):
    """The mean −log p of the truth per item, in nats."""

    higher_is_better = False

    def measure(self, inference: Inference) -> Score:
        total, count = inference.once(_likelihood)
        return Score(
            self.name, total / max(count, 1.0), len(inference), "−log p per item, nats, no smoothing"
        )


@register("metric", "perplexity")
class Perplexity(Metric):
    """exp of the mean −log p per item; the end of a sequence counts as an item."""

    higher_is_better = False

    def measure(self, inference: Inference) -> Score:
        total, count = inference.once(_likelihood)
        return perplexity(total, int(count))


def _likelihood(inference: Inference) -> tuple[float, float]:
    return inference.likelihood()


def perplexity(negative_log_likelihood: float, items: int) -> Score:
    """exp of the mean −log p (natural) per item."""
    if items < 1:
        raise RegardError("perplexity needs at least one item, received none.")
    mean = negative_log_likelihood / items
    value = math.exp(mean) if mean < 700.0 else math.inf
    return Score("perplexity", value, items, "exp(mean -log p)|per item, end included")
