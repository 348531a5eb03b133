"""Limits on the output of a search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.search.stepper import Stepper


@dataclass(frozen=True)
class Limits:
    """Lengths count tokens without END.

    minimum     the output has at least this many tokens
    maximum     the output has at most this many tokens; None: the decoder's own limit, by default twice the
                length of the source plus twenty
    prefix      the tokens with which each output must begin; a row without tokens imposes nothing
    forbidden   ids that are never written; None: those of the decoder, for a vocabulary PAD and BEGIN

    Forbidden tokens are excluded without renormalization: scores remain the model's own log-probabilities.
    """

    minimum: int = 0
    maximum: int | None = None
    prefix: Tokens | None = None
    forbidden: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.minimum < 0 or (self.maximum is not None and self.maximum < self.minimum):
            raise RegardError(
                f"The limits of the output length are invalid: minimum {self.minimum}, maximum {self.maximum}.",
                fix="Choose 0 ≤ minimum ≤ maximum.",
            )

    def of(self, stepper: Stepper) -> Bounds:
        """The limits for the sources of a stepper."""
        if self.maximum is None:
            longest = stepper.longest
        else:
            longest = torch.full_like(stepper.lengths, self.maximum)
        longest, prefix = longest.clamp(min=self.minimum), None
        if self.prefix is not None:
            prefix = self.prefix.to(longest.device)
            longest = torch.maximum(longest, prefix.lengths)
        forbidden = stepper.forbidden if self.forbidden is None else self.forbidden
        return Bounds(longest, self.minimum, stepper.end, forbidden, prefix)


@dataclass(frozen=True)
class Bounds:
    """The limits of B sources.

    last   (B) the step at which only END is allowed
    """

    last: Tensor
    minimum: int
    end: int
    forbidden: tuple[int, ...]
    prefix: Tokens | None

    @cached_property
    def steps(self) -> int:
        """The number of steps after which every output has ended."""
        return self.extent[1] + 1

    @cached_property
    def extent(self) -> tuple[int, int]:
        """The latest steps at which the first and the last output end."""
        first, last = torch.stack(self.last.aminmax()).tolist()
        return first, last

    def ended(self, step: int | Tensor) -> Tensor:
        """(B) whether an output must end at this step."""
        return self.last <= step

    def apply(self, logits: Tensor, step: int, allowed: Tensor | None = None) -> Tensor:
        """Set the tokens that are not allowed at this step to −inf, in place; logits (B, K, V).

        allowed   (B, K, V) the tokens that the decoder itself allows
        """
        minus_infinity = -torch.inf
        if allowed is not None:
            logits.masked_fill_(~allowed, minus_infinity)
        for token in self.forbidden:
            if 0 <= token < logits.shape[-1]:
                logits[..., token] = minus_infinity
        if step < self.minimum:
            logits[..., self.end] = minus_infinity
        if step >= self.extent[0]:
            end = logits[..., self.end].clone()
            logits.masked_fill_(self.ended(step)[:, None, None], minus_infinity)
            logits[..., self.end] = end
        if self.prefix is not None and step < self.prefix.ids.shape[1]:
            _force(logits, self.prefix, step)
        return logits

    def select(self, rows: Tensor) -> Bounds:
        """The limits of some of the sources, (B') int64."""
        prefix = self.prefix
        if prefix is not None:
            prefix = Tokens(prefix.ids.index_select(0, rows), prefix.lengths.index_select(0, rows))
        return replace(self, last=self.last.index_select(0, rows), prefix=prefix)


def _force(logits: Tensor, prefix: Tokens, step: int) -> None:
    forced = (prefix.lengths > step)[:, None, None]  # (B, 1, 1)
    word = prefix.ids[:, step, None, None].expand(-1, logits.shape[1], 1)
    kept = logits.gather(-1, word)
    logits.masked_fill_(forced, -torch.inf)
    logits.scatter_(-1, word, torch.where(forced, kept, logits.gather(-1, word)))
