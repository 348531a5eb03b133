"""The flag of an answer whose attention misleads.

For every piece t of an answer, the gain is how much more its probability falls when the most attended positions are
removed than when random ones are: comprehensiveness of the attention minus that of random orders. An answer is flagged
unless the gain is above zero beyond doubt: the lower end of the bootstrap interval of its mean over the pieces must be
positive. Attention that is shifted to neighbors, or spread evenly, gains nothing over random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from regard.questions.faithfulness.result import Piece

LEAST_PIECES = 3
"""Answers with fewer pieces get no flag: there is nothing to resample."""
LEVEL = 0.95
SAMPLES = 1000


def flagged(pieces: Sequence[Piece], *, seed: int = 1, level: float = LEVEL) -> dict[int, bool]:
    """{row: whether its attention is flagged}, for the answers with enough pieces."""
    gains: dict[int, list[float]] = {}
    for piece in pieces:
        values = piece.values.get("comprehensiveness", {})
        if "attention" in values and "random" in values:
            gains.setdefault(piece.row, []).append(values["attention"] - values["random"])
    generator = np.random.default_rng(seed)
    found = {}
    for row, mine in gains.items():
        if len(mine) >= LEAST_PIECES:
            drawn = np.array(mine)[generator.integers(len(mine), size=(SAMPLES, len(mine)))].mean(1)
            found[row] = bool(np.percentile(drawn, 100 * (1 - level)) <= 0)
    return found
