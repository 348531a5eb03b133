"""Imposed attention: what replaces the weights that a model computes, or takes some of them away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.private import tensor_node


@tensor_node()
@dataclass(frozen=True)
class Imposed:
    """What is imposed on the weights over one memory, by output position: (B, T, S) each. The last row also belongs to
    all later output positions.

    rows      weights that replace the model's own; a row of zeros replaces nothing
    kept      bool; False takes the weight of a position away, and the others share it in proportion; None: all are
              kept
    shuffled  int64; position s gets the model's own weight of position shuffled[s]; None: its own
    segments  (B, R, 4) rules of segments: step (−1: every, −2: no rule), start, end, 1 if forced and 0 if forbidden

    Own weights are shuffled first, then replaced, then taken away.
    """

    rows: Tensor
    kept: Tensor | None = None
    shuffled: Tensor | None = None
    segments: Tensor | None = None

    def on(self, weights: Tensor, step: int | None, *, renormalized: bool = True) -> Tensor:
        """The weights (B, T, S), or (B, H, T, S) of several heads, as imposed.

        step           None: the queries belong to output positions 0 … T−1; a number: all to this one
        renormalized   whether the rest of a row gets what is taken away
        """
        if self.shuffled is not None:
            weights = weights.gather(-1, self._at(self.shuffled, weights, step).expand_as(weights))
        rows = self._at(self.rows, weights, step).to(weights.dtype)
        weights = torch.where((rows > 0).any(-1, keepdim=True), rows, weights)
        if self.kept is not None:
            weights = without(weights, self._at(self.kept, weights, step), renormalized)
        return weights

    def _at(self, table: Tensor, weights: Tensor, step: int | None) -> Tensor:
        """The rows of the queries, (B, T, S) or (B, 1, T, S)."""
        last = table.shape[1] - 1
        if step is None:
            places = torch.arange(weights.shape[-2], device=table.device).clamp(max=last)
        else:
            places = torch.full((weights.shape[-2],), min(step, last), device=table.device)
        found = table.index_select(1, places)
        return found.unsqueeze(1) if weights.ndim == 4 else found

    def select(self, rows: Tensor) -> Imposed:
        """That of some rows of the batch, (B') int64."""

        def pick(table: Tensor | None) -> Tensor | None:
            return None if table is None else table.index_select(0, rows)

        return Imposed(
            self.rows.index_select(0, rows), pick(self.kept), pick(self.shuffled), pick(self.segments)
        )

    def later(self, first: int) -> Imposed:
        """Without the output positions before `first`."""
        first = min(first, self.rows.shape[1] - 1)
        kept = None if self.kept is None else self.kept[:, first:]
        return Imposed(
            self.rows[:, first:], kept, None if self.shuffled is None else self.shuffled[:, first:]
        )

    def gathered(self, places: Tensor) -> Imposed:
        """Over some positions of the memory, (B, R); a weight cannot be shuffled to a position that is left out."""

        def taken(table: Tensor) -> Tensor:
            return table.gather(2, places.unsqueeze(1).expand(-1, table.shape[1], -1))

        kept = None if self.kept is None else taken(self.kept)
        if self.shuffled is None:
            return Imposed(taken(self.rows), kept)
        ranks = taken(self.shuffled).argsort(-1).argsort(-1)  # the order of what is left
        return Imposed(taken(self.rows), kept, ranks)

    def after_first(self) -> Imposed:
        """Over the positions of the memory, and one before them that keeps its weight."""
        shuffled = None if self.shuffled is None else nn.functional.pad(self.shuffled + 1, (1, 0))
        kept = None if self.kept is None else nn.functional.pad(self.kept, (1, 0), value=True)
        return Imposed(nn.functional.pad(self.rows, (1, 0)), kept, shuffled)


def without(weights: Tensor, kept: Tensor, renormalized: bool = True) -> Tensor:
    """The weights (…, S) where `kept`; the others share what is taken away in proportion, or evenly if they had
    nothing."""
    left = weights * kept
    if not renormalized:
        return left
    whole, rest = weights.sum(-1, keepdim=True), left.sum(-1, keepdim=True)
    even = kept.to(weights.dtype) / kept.sum(-1, keepdim=True).clamp(min=1)
    tiny = torch.finfo(weights.dtype).tiny
    shared = torch.where(rest > tiny, left * (whole / rest.clamp(min=tiny)), even * whole)
    return torch.where(kept.all(-1, keepdim=True), weights, shared)


def joined(several: Sequence[tuple[Imposed | None, Tensor]]) -> Imposed | None:
    """What is imposed on the concatenated positions of several memories, given the mask (B, S) of each; None if it
    is nothing."""
    known = [one for one, _ in several if one is not None]
    if not known:
        return None
    steps = max(one.rows.shape[1] for one in known)
    rows, kept, shuffled, first = [], [], [], 0
    for one, mask in several:
        count = mask.shape[1]
        shape = (len(mask), steps, count)
        here = torch.arange(count, device=mask.device).expand(shape)
        every = torch.ones(shape, dtype=torch.bool, device=mask.device)
        rows.append(known[0].rows.new_zeros(shape) if one is None else _longer(one.rows, steps))
        kept.append(every if one is None or one.kept is None else _longer(one.kept, steps))
        order = here if one is None or one.shuffled is None else _longer(one.shuffled, steps)
        shuffled.append(order + first)
        first += count
    return Imposed(
        torch.cat(rows, -1),
        torch.cat(kept, -1) if any(one.kept is not None for one in known) else None,
        torch.cat(shuffled, -1) if any(one.shuffled is not None for one in known) else None,
    )


def _longer(table: Tensor, steps: int) -> Tensor:
    """(B, steps, S), the last row repeated."""
    return torch.cat([table, table[:, -1:].expand(-1, steps - table.shape[1], -1)], 1)
