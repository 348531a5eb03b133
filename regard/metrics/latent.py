"""Trees no one taught: how often the heads a model found for itself are the true ones, and what one gets for nothing.

    UAS = Σ words with the right head / Σ words

Heads are counted from 1, 0 is the root symbol. The baselines: every word's head is the next word (left-branching,
the last word the root), or the word before it (right-branching, the first word the root), or a head at random.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.errors import RegardError
from regard.metrics.result import Score

Heads = Sequence[int]


def latent_uas(found: Sequence[Heads], truth: Sequence[Heads]) -> Score:
    """The share of all words whose head is the true one, punctuation counted like any word."""
    _same_shapes(found, truth)
    right = sum(
        mine == true
        for row, heads in zip(found, truth, strict=True)
        for mine, true in zip(row, heads, strict=True)
    )
    words = sum(map(len, truth))
    return Score("latent_uas", right / max(words, 1), len(truth), True, "share of words with the true head")


def branching_baselines(truth: Sequence[Heads]) -> dict[str, Score]:
    """What left-branching, right-branching and random heads reach on these trees."""
    left = [[*range(2, len(heads) + 1), 0] if heads else [] for heads in truth]
    right = [list(range(len(heads))) for heads in truth]
    # Each word draws among the other words and the root symbol: as many choices as there are words.
    words = sum(map(len, truth))
    random = sum(len(heads) * (1 / len(heads)) for heads in truth if heads) / max(words, 1)
    return {
        "left-branching": Score(
            "latent_uas", latent_uas(left, truth).value, len(truth), True, "head = next word"
        ),
        "right-branching": Score(
            "latent_uas", latent_uas(right, truth).value, len(truth), True, "head = word before"
        ),
        "random heads": Score(
            "latent_uas", random, len(truth), True, "expected value of a head drawn evenly"
        ),
    }


def _same_shapes(found: Sequence[Heads], truth: Sequence[Heads]) -> None:
    if len(found) != len(truth) or any(len(a) != len(b) for a, b in zip(found, truth, strict=True)):
        raise RegardError(
            "expected as many rows of heads, and as many heads in each, as the true trees have."
        )
