"""Candidates: the most probable continuations of the prefixes in a beam."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.search.limits import Bounds
from regard.structures.kernels.availability import triton_takes, within_reach


def normalizers(logits: Tensor) -> Tensor:
    """log Σ exp of the logits (B, K, V) → (B, K)."""
    if within_reach(logits, rows=len(logits)):
        from regard.fast.cpu import best

        return best.normalisers(logits)
    return logits.logsumexp(-1)


def top(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest logits (B, K, V) → (B, K, count) and their words."""
    if within_reach(logits, rows=len(logits)):
        from regard.fast.cpu import best

        return best.top(logits, count)
    if count == 1:
        highest, words = logits.max(-1, keepdim=True)
        return highest, words
    found = logits.topk(count, -1)
    return found.values, found.indices


def limited_top(
    logits: Tensor, bounds: Bounds, at: Tensor, count: int, *, late: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizers (B, K), and the `count` highest logits that the limits allow at step `at` (), as in `top`.

    late   whether an output may have to end at this step
    """
    if triton_takes(logits):
        from regard.fast.cuda import best

        if best.serves(logits, count, bounds.forbidden):
            end, minimum, forbidden = bounds.end, bounds.minimum, bounds.forbidden
            return best.best(logits, bounds.last, at, count, end=end, minimum=minimum, forbidden=forbidden)
    normalizer = normalizers(logits)
    return normalizer, *top(bounds.apply_on_device(logits, at, late=late), count)


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
