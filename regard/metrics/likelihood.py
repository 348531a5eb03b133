"""How surprised a model is by the truth."""

from __future__ import annotations

import math

from regard.errors import RegardError
from regard.metrics.result import Score


def perplexity(negative_log_likelihood: float, items: int) -> Score:
    """exp of the mean −log p (natural) per item; the end of a sequence counts as an item."""
    if items < 1:
        raise RegardError("perplexity needs at least one item, and got none.")
    mean = negative_log_likelihood / items
    value = math.exp(mean) if mean < 700.0 else math.inf
    return Score("perplexity", value, items, False, "exp(mean -log p)|per item, end included")
