"""The flag of an answer whose attention misleads.

c_t(s) is how much of p(y_t) the removal of position s alone costs, and a_t the most attended position. The capture of
an answer says how far its attention comes from random towards the best single position:

    capture = Σ_t (c_t(a_t) − mean_s c_t(s)) / Σ_t (max_s c_t(s) − mean_s c_t(s))

It is 1 if every piece looks at the position that it depends on most, and about 0 at random. An answer is flagged unless
its capture is above one half beyond doubt: the lower end of the one-sided 95 % bootstrap interval over its pieces must
exceed `HALF`. Attention that is shifted to neighbors captures some of what the neighbors share; more than half it does
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from regard.data.ragged import Array
from regard.questions.faithfulness.kinds import ATTENTION, LEAVE, RANDOM

if TYPE_CHECKING:
    from regard.questions.faithfulness.result import PieceMeasures

HALF = 0.5
LEAST_PIECES = 3
"""Answers with fewer pieces get no flag: there is nothing to resample."""
LEAST_COST = 0.05
"""Nor do answers of which no removal costs this much more than random, in all pieces together."""
LEVEL = 0.95
SAMPLES = 1000


def flagged(pieces: Sequence[PieceMeasures], *, seed: int = 1, level: float = LEVEL) -> dict[int, bool]:
    """{row: whether its attention is flagged}, for the answers with enough pieces that depend on their input."""
    rows: dict[int, list[tuple[float, float]]] = {}
    for piece in pieces:
        costs = piece.values.get("first removal", {})
        if {ATTENTION, LEAVE, RANDOM} <= set(costs):
            gained, most = costs[ATTENTION] - costs[RANDOM], costs[LEAVE] - costs[RANDOM]
            rows.setdefault(piece.row, []).append((gained, most))
    generator = np.random.default_rng(seed)
    found = {}
    for row, mine in rows.items():
        table = np.array(mine)  # (T, 2)
        if len(mine) >= LEAST_PIECES and table[:, 1].sum() >= LEAST_COST:
            drawn = table[generator.integers(len(mine), size=(SAMPLES, len(mine)))].sum(1)
            found[row] = bool(np.percentile(_ratio(drawn), 100 * (1 - level)) <= HALF)
    return found


def _ratio(sums: Array) -> Array:
    return np.asarray(sums[:, 0] / np.maximum(sums[:, 1], 1e-9))
