"""Candidates: the most probable continuations of the beginnings in a beam."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def best_continuations(
    logits: Tensor, live: Tensor, count: int, restrict: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` best of all K·V continuations of each source, best first.

    logits     (B, K, V) of the next word, not normalised; overwritten
    live       (B, K) log-probability of each beginning
    restrict   sets to −inf, in place, what may not be written
    returns    scores (B, count), the beginnings they continue (B, count), their words (B, count); −inf where there
               are fewer
    """
    rows, _, vocabulary = logits.shape
    normaliser = logits.logsumexp(-1, keepdim=True)
    best, words = restrict(logits).topk(min(count, vocabulary), -1)  # (B, K, C)
    totals = (best - normaliser + live.unsqueeze(-1)).reshape(rows, -1)
    scores, order = totals.topk(min(count, totals.shape[1]), 1)
    parents, words = order // best.shape[2], words.reshape(rows, -1).gather(1, order)
    lacking = count - scores.shape[1]
    if lacking > 0:
        scores = torch.nn.functional.pad(scores, (0, lacking), value=-torch.inf)
        parents = torch.nn.functional.pad(parents, (0, lacking))
        words = torch.nn.functional.pad(words, (0, lacking))
    return scores, parents, words
