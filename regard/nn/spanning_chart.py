"""Soft composition: the vectors of all spans of a sentence, each an expectation over the span's split points.

    β_ij = s_ij + log Σ_k exp(β_ik + β_{k+1,j}),  β_ii = 0       the inside algorithm of `regard.structures.BinaryTree`
    q_ij(k) = exp(β_ik + β_{k+1,j} + s_ij − β_ij)                p(i … j is split after k | it is in the tree)
    h_ij = Σ_k q_ij(k) compose(h_ik, h_{k+1,j})

where p(tree) ∝ exp Σ s_ij over its spans. No tree is chosen, so everything is differentiable. If the scores
allow one tree only, h is the composition along this tree. The cost is O(N³) compositions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.composers import Composer
from regard.structures.spans import SpanChart


def soft_spans(composer: Composer, leaves: Tensor, scores: Tensor) -> Tensor:
    """leaves (B, N, state), scores (B, N, N) of the spans i < j → states (B, N, N, state); zero below the diagonal."""
    rows, words, features = leaves.shape
    inside = SpanChart(scores.new_zeros(rows, words))  # (B, n, u)
    states = SpanChart(leaves.transpose(1, 2))  # (B, state, n, u)
    cells = [leaves]  # by width: (B, N − width, state)
    for width in range(1, words):
        ways = inside.left_parts() + inside.right_parts()  # (B, n, width): one for every cut
        shares = torch.softmax(ways, -1)
        left, right = (part.permute(0, 2, 3, 1) for part in (states.left_parts(), states.right_parts()))
        made = (shares.unsqueeze(-1) * composer.pair(left, right)).sum(2)  # (B, n, state)
        inside.grow(torch.logsumexp(ways, -1) + scores.diagonal(width, -2, -1))
        states.grow(made.transpose(1, 2))
        cells.append(made)
    table = leaves.new_zeros(rows, words, words, features)
    for width, made in enumerate(cells):
        starts = torch.arange(words - width, device=leaves.device)
        table = table.index_put(
            (torch.arange(rows, device=leaves.device)[:, None], starts, starts + width), made
        )
    return table
