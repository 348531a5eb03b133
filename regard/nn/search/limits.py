"""Limits: what a search may write."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batch import BEGIN, END, PAD, Tokens
from regard.errors import RegardError


@dataclass(frozen=True)
class Limits:
    """Lengths count words, END not among them.

    minimum     END is not written before that many words
    maximum     END is written after that many words; None: twice the source's length and twenty more
    prefix      the words each output must begin with; a row of no words is free
    forbidden   ids never written

    What is forbidden is left out, not redistributed: scores stay the model's own log-probabilities.
    """

    minimum: int = 0
    maximum: int | None = None
    prefix: Tokens | None = None
    forbidden: tuple[int, ...] = (PAD, BEGIN)

    def __post_init__(self) -> None:
        if self.minimum < 0 or (self.maximum is not None and self.maximum < self.minimum):
            raise RegardError(
                f"An output of at least {self.minimum} and at most {self.maximum} words cannot be.",
                fix="Choose 0 ≤ minimum ≤ maximum.",
            )

    def last_step(self, source_lengths: Tensor) -> Tensor:
        """(B) the step at which END is the only word left."""
        if self.maximum is None:
            longest = 2 * source_lengths + 20
        else:
            longest = torch.full_like(source_lengths, self.maximum)
        longest = longest.clamp(min=self.minimum)
        if self.prefix is not None:
            longest = torch.maximum(longest, self.prefix.lengths.to(longest.device))
        return longest

    def apply(self, logits: Tensor, step: int, last: Tensor) -> Tensor:
        """Sets to −inf, in place, what may not be written at this step; logits (B, K, V), `last` from `last_step`."""
        minus_infinity = -torch.inf
        for token in self.forbidden:
            logits[..., token] = minus_infinity
        if step < self.minimum:
            logits[..., END] = minus_infinity
        must_end = last <= step
        if bool(must_end.any()):
            end = logits[..., END].clone()
            logits.masked_fill_(must_end[:, None, None], minus_infinity)
            logits[..., END] = end
        if self.prefix is not None and step < self.prefix.ids.shape[1]:
            self._force(logits, step)
        return logits

    def _force(self, logits: Tensor, step: int) -> None:
        prefix = self.prefix.to(logits.device) if self.prefix is not None else None
        if prefix is None:
            return
        forced = (prefix.lengths > step)[:, None, None]  # (B, 1, 1)
        word = prefix.ids[:, step, None, None].expand(-1, logits.shape[1], 1)
        kept = logits.gather(-1, word)
        logits.masked_fill_(forced, -torch.inf)
        logits.scatter_(-1, word, torch.where(forced, kept, logits.gather(-1, word)))
