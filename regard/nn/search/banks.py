"""Banks: a beam that is shared among hypotheses that have fulfilled more or less of a constraint.

A hypothesis that has just written a required word is less probable than one that has not, and a plain beam drops it.
Here the candidates are put into banks by the number of tokens that the constraint still needs, and the beam takes the
best of each bank, then the second best of each, and so on (Post and Vilar 2018). If the beam holds all hypotheses,
nothing is dropped, and the result is the best output that obeys.
"""

from __future__ import annotations

import torch
from torch import Tensor


def with_missing(
    logits: Tensor, best: Tensor, words: Tensor, missing: tuple[Tensor, Tensor], count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Add to the best tokens of each hypothesis the best of those that lead to a bank nearer to the end.

    logits         (B, K, V), −inf for tokens that are not allowed
    best, words    (B, K, C) the highest of them
    missing        (B, K) the bank of each hypothesis, and (B, K, V) that after each token
    returns        best, words and banks (B, K, C + count)
    """
    before, after = missing
    nearer = (after < before.unsqueeze(-1)).scatter(-1, words, False)
    found = logits.masked_fill(~nearer, -torch.inf).topk(min(count, logits.shape[-1]), -1)
    words = torch.cat([words, found.indices], -1)
    return torch.cat([best, found.values], -1), words, after.gather(-1, words)


def shared_among_banks(
    best: Tensor, words: Tensor, gained: Tensor, banks: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """As `best_continuations`, in the order in which a beam takes them: the best of each bank, the second best of
    each, …; those of equal rank by their score."""
    rows = len(best)
    scores, order = (best + gained.unsqueeze(-1)).reshape(rows, -1).sort(dim=1, descending=True, stable=True)
    banks = banks.reshape(rows, -1).gather(1, order)
    rank = _ranks(banks).masked_fill(scores == -torch.inf, scores.shape[1])
    first = rank.argsort(dim=1, stable=True)[:, :count]
    lacking = count - first.shape[1]
    order, scores = order.gather(1, first), scores.gather(1, first)
    parents, words = order // best.shape[2], words.reshape(rows, -1).gather(1, order)
    if lacking > 0:
        pad = torch.nn.functional.pad
        scores = pad(scores, (0, lacking), value=-torch.inf)
        parents, words = pad(parents, (0, lacking)), pad(words, (0, lacking))
    return scores, parents, words


def _ranks(banks: Tensor) -> Tensor:
    """(B, N) the number of earlier candidates in the same bank."""
    ordered, order = banks.sort(dim=1, stable=True)
    steps = torch.arange(banks.shape[1], device=banks.device).expand_as(banks)
    new = torch.cat([torch.ones_like(ordered[:, :1], dtype=torch.bool), ordered.diff(dim=1) != 0], 1)
    return torch.empty_like(order).scatter(1, order, steps - steps.where(new, 0).cummax(1).values)
