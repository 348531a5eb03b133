"""Correctness of bit vectors. All bits of a missing or superfluous vector are wrong.

bit_accuracy   right bits / bits
bit_error      wrong bits / sequences, as in Graves et al. 2014
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register


def wrong_bits(mine: Sequence[str], true: Sequence[str]) -> tuple[int, int]:
    """(wrong, all) bits of a prediction and a reference."""
    pairs = list(zip_longest(mine, true, fillvalue=""))
    wrong = sum(
        sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))
        for one, other in pairs
    )
    return wrong, sum(max(len(one), len(other)) for one, other in pairs)


@register("metric", "bit_accuracy")
class BitAccuracy(OutputMetric):
    """The share of correct bits."""

    suits = ("bits",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): correct bits and all bits, for the best-matching reference."""
        lines = []
        for mine, row in zip(predictions, references, strict=True):
            wrong, count = min((wrong_bits(mine, true) for true in row), key=lambda found: found[0])
            lines.append((float(count - wrong), float(count)))
        return np.array(lines)

    def describe(self, count: str) -> str:
        return f"share of bits right|refs:{count}"


@register("metric", "bit_error")
class BitError(BitAccuracy):
    """The mean number of wrong bits per sequence."""

    higher_is_better = False

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): wrong bits, and 1."""
        right = super().statistics(predictions, references)
        return np.stack([right[:, 1] - right[:, 0], np.ones(len(right))], 1)

    def describe(self, count: str) -> str:
        return f"wrong bits in a sequence|refs:{count}"
