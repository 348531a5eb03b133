"""Selections: from scores of T queries over S positions to how much each position is looked at.

A selection is a distribution over where to look; its weights are the marginals p(position is selected).

    uniform   1/n for each of the n positions                                              mean pooling
    softmax   one position:            exp e_s / Σ exp e_s'
    sigmoid   any subset of positions: σ(e_s)
    hard      one position, read alone: softmax weights, a draw in training                (`hard.py`)
    segments  neighbouring positions:  p(z_s = 1) of a binary chain                        (`segments.py`)
    local     one position near p:     softmax within |s − p| ≤ D, times exp(−(s − p)² / 2(D/2)²)   (Luong 2015)
    oracle    the true alignment, given

A new one derives from `Selection`, says over what it is joint, and may own parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.rescaling import rescale

Joint = Literal["nothing", "positions", "queries"]


@dataclass(frozen=True)
class Given:
    """What a selection may need to know beside the scores.

    query   (B, T, Q) the queries themselves
    truth   (B, T', S) the true alignment of the whole output
    step    None: the T queries are those of output positions 0 … T−1. A number t: all of them are asked at
            position t, as the hypotheses of a search are
    transitions  (B, T−1, S, S) scores of consecutive choices, where the T queries are decided together
    """

    query: Tensor | None = None
    truth: Tensor | None = None
    step: int | None = None
    transitions: Tensor | None = None


NOTHING = Given()


class Selection(nn.Module):
    """scores (B, T, S), mask (B, S) → weights (B, T, S), zero where the mask is False and never NaN."""

    joint: ClassVar[Joint] = "positions"
    draws: ClassVar[bool] = False
    """Whether in training positions are drawn, and learned by the score function."""

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        raise NotImplementedError

    def reading(self, weights: Tensor) -> Tensor:
        """What the values are multiplied with, (B, T, S): the weights themselves, unless a selection rescales them."""
        return weights

    def draw(self, weights: Tensor, rows: Tensor) -> Tensor:
        """The reading of a selection that draws, in the rows (B) that are to."""
        return self.reading(weights)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension where the mask is True; zeros where nothing is.

    Masked scores become the lowest finite number, so that a row without any position stays free of NaN in the
    gradient too.
    """
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~mask, lowest), -1) * mask


class Uniform(Selection):
    joint = "nothing"

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        weights = mask / mask.sum(-1, keepdim=True).clamp(min=1)
        return weights.to(scores.dtype).unsqueeze(1).expand_as(scores)


class Softmax(Selection):
    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        return masked_softmax(scores, mask.unsqueeze(1))


class Rescaled(Selection):
    """A selection of no fixed number of positions, whose context does not grow with their number (Kim 2017):

        c = Σ_s p_s x_s / γ,  γ = (1/λ) Σ_s p_s

    normalize   λ, what the rescaled weights sum to; 0 leaves them as they are
    """

    def __init__(self, *, normalize: float = 2.0) -> None:
        super().__init__()
        if not 0 <= normalize < math.inf:
            raise RegardError(f"A selection is normalized to a sum of 0 (off) or more; received {normalize}.")
        self.normalize = normalize

    def reading(self, weights: Tensor) -> Tensor:
        return rescale(weights, self.normalize) if self.normalize else weights


class Sigmoid(Rescaled):
    joint = "nothing"

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        return torch.sigmoid(scores) * mask.unsqueeze(1)


class Local(Selection):
    """Luong's local attention around a centre p, window D on both sides.

    predictive   p = n · σ(v · tanh(W q)), n the length of the input (local-p)
    monotonic    p = t, the output position, at most the last input position; no Gaussian (local-m)
    """

    def __init__(self, query_size: int | None = None, *, window: int = 10, monotonic: bool = False) -> None:
        super().__init__()
        if window < 1:
            raise RegardError(f"A local window must be at least 1; received {window}.")
        self.window, self.monotonic = window, monotonic
        if not monotonic:
            if query_size is None:
                raise RegardError(
                    "Local selection predicts its centre from the query.", fix="Give query_size."
                )
            self.hidden = nn.Linear(query_size, query_size, bias=False)
            self.centre = nn.Linear(query_size, 1, bias=False)

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        lengths = mask.sum(-1)[:, None, None]
        if self.monotonic:
            first = torch.arange(scores.shape[1], device=scores.device) if given.step is None else given.step
            centres = torch.as_tensor(first, device=scores.device).reshape(1, -1, 1)
            centres = torch.minimum(centres, lengths - 1).expand(-1, scores.shape[1], 1)
        elif given.query is None:
            raise RegardError(
                "Local selection predicts its centre from the query.", fix="Pass Given(query=…)."
            )
        else:
            centres = lengths * torch.sigmoid(self.centre(torch.tanh(self.hidden(given.query))))  # (B, T, 1)
        distance = torch.arange(scores.shape[2], device=scores.device) - centres  # (B, T, S)
        near = (distance.abs() <= self.window) & mask.unsqueeze(1)
        weights = masked_softmax(scores, near)
        if self.monotonic:
            return weights
        return weights * torch.exp(-(distance**2) / (2 * (self.window / 2) ** 2))


class Oracle(Selection):
    """Looks where the truth says: an upper bound on what attention can bring.

    Output positions beyond the truth (the end of the sequence among them) look nowhere.
    """

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        if given.truth is None:
            raise RegardError(
                "Oracle selection needs the true alignment, and none was given.",
                fix="Add an alignment column to the data, or choose another selection.",
            )
        return rows_at(given.truth, given.step, scores) * mask.unsqueeze(1)


def rows_at(table: Tensor, step: int | None, scores: Tensor) -> Tensor:
    """Of a table (B, T', S') of all output positions the rows asked for at `step` (see `Given`); scores (B, T, S).

    Output positions beyond the table have rows of zeros.
    """
    rows = scores.new_zeros(scores.shape)
    known = table[:, : scores.shape[1], : scores.shape[2]]
    if step is None:
        rows[:, : known.shape[1], : known.shape[2]] = known
    elif step < table.shape[1]:
        rows[..., : known.shape[2]] = table[:, step, None, : known.shape[2]]
    return rows
