"""Candidates: the most probable continuations of the prefixes in a beam."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.path import faster


def normalizers(logits: Tensor) -> Tensor:
    """log Σ exp of the logits (B, K, V) → (B, K)."""
    found: Tensor | None = faster("search.normalizers", logits.device, logits)
    return logits.logsumexp(-1) if found is None else found


def top(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest logits (B, K, V) → (B, K, count) and their words."""
    compiled: tuple[Tensor, Tensor] | None = faster("search.top", logits.device, logits, count)
    if compiled is not None:
        return compiled
    if count == 1:
        highest, words = logits.max(-1, keepdim=True)
        return highest, words
    found = logits.topk(count, -1)
    return found.values, found.indices


def best_continuations(
    best: Tensor, words: Tensor, gained: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` best of all continuations of each source, best first.

    best       (B, K, C) the highest logits of allowed next tokens; `words`: these tokens
    gained     (B, K) what is added to them: the log-probability of each prefix minus the normalizer of the
               logits
    returns    scores (B, count), the prefixes they continue (B, count), their tokens (B, count); −inf if
               there are fewer
    """
    rows = len(best)
    totals = (best + gained.unsqueeze(-1)).reshape(rows, -1)
    scores, order = totals.topk(min(count, totals.shape[1]), 1)
    parents, words = order // best.shape[2], words.reshape(rows, -1).gather(1, order)
    lacking = count - scores.shape[1]
    if lacking > 0:
        scores = torch.nn.functional.pad(scores, (0, lacking), value=-torch.inf)
        parents = torch.nn.functional.pad(parents, (0, lacking))
        words = torch.nn.functional.pad(words, (0, lacking))
    return scores, parents, words
