"""Candidates: the most probable continuations of the beginnings in a beam."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.kernels.availability import within_reach


def normalisers(logits: Tensor) -> Tensor:
    """log Σ exp of the logits (B, K, V) → (B, K)."""
    if within_reach(logits):
        from regard.kernels.cpu import best

        return best.normalisers(logits)
    return logits.logsumexp(-1)


def top(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest logits (B, K, V) → (B, K, count) and their words."""
    if within_reach(logits):
        from regard.kernels.cpu import best

        return best.top(logits, count)
    if count == 1:
        highest, words = logits.max(-1, keepdim=True)
        return highest, words
    found = logits.topk(count, -1)
    return found.values, found.indices


def best_continuations(logits: Tensor, gained: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` best of all K·V continuations of each source, best first.

    logits     (B, K, V) of the next token, −inf where it may not be written
    gained     (B, K) what is added to them: the log-probability of each beginning less the logits' normaliser
    returns    scores (B, count), the beginnings they continue (B, count), their tokens (B, count); −inf where there
               are fewer
    """
    rows, _, choices = logits.shape
    best, words = top(logits, min(count, choices))  # (B, K, C)
    totals = (best + gained.unsqueeze(-1)).reshape(rows, -1)
    scores, order = totals.topk(min(count, totals.shape[1]), 1)
    parents, words = order // best.shape[2], words.reshape(rows, -1).gather(1, order)
    lacking = count - scores.shape[1]
    if lacking > 0:
        scores = torch.nn.functional.pad(scores, (0, lacking), value=-torch.inf)
        parents = torch.nn.functional.pad(parents, (0, lacking))
        words = torch.nn.functional.pad(words, (0, lacking))
    return scores, parents, words
