"""Selections: from scores of T queries over S positions to attention weights; one selection per file.

A selection is a distribution over where to look; its weights are the marginals p(position is selected).

    uniform      1/n for each of the n positions                                             mean pooling
    softmax      one position:            exp e_s / Σ exp e_s'
    sparsemax    one position or a few:   the distribution nearest to the scores, with exact zeros
    entmax       one position or a few:   between softmax and sparsemax
    sigmoid      any subset of positions: σ(e_s)
    hard         one position, read alone: softmax weights, a sample in training
    segments     neighboring positions:   p(z_s = 1) of a binary chain
    local        one position near p:     softmax within |s − p| ≤ D, times exp(−(s − p)² / 2(D/2)²)   (Luong 2015)
    facts        K positions in order:    p(z_k = s) of a chain over the memory
    projective   one head for each word:  p(head of t is s) of a tree without crossing arcs
    spanning     one head for each word:  the same of any tree
    given        one head for each word:  those of the tree in the data
    oracle       the true alignment
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.selections.facts import Facts
    from regard.nn.selections.given import GivenHeads
    from regard.nn.selections.hard import Hard, ScoreFunction
    from regard.nn.selections.local import Local
    from regard.nn.selections.oracle import Oracle
    from regard.nn.selections.projective import Projective
    from regard.nn.selections.sampled_training import SampledTraining
    from regard.nn.selections.segments import Segmental
    from regard.nn.selections.selection import (
        NOTHING,
        AnySelection,
        Given,
        Selection,
        make_selection,
        masked_softmax,
        rows_at,
    )
    from regard.nn.selections.sigmoid import Sigmoid
    from regard.nn.selections.softmax import Softmax
    from regard.nn.selections.spanning import Spanning
    from regard.nn.selections.uniform import Uniform
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "NOTHING",
    "AnySelection",
    "Facts",
    "Given",
    "GivenHeads",
    "Hard",
    "Local",
    "Oracle",
    "Projective",
    "SampledTraining",
    "ScoreFunction",
    "Segmental",
    "Selection",
    "Sigmoid",
    "Softmax",
    "Spanning",
    "Uniform",
    "make_selection",
    "masked_softmax",
    "rows_at",
]
