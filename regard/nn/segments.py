"""Segmental attention: the positions looked at lie together (Kim, Denton, Hoang, Rush 2017).

    p(z | e) ∝ exp( Σ_s e_s z_s + Σ_s b[z_s, z_{s+1}] ),  z_s ∈ {0, 1};  weights p(z_s = 1)

A binary chain over the positions: the score e_s is that of being inside a segment, being outside scores 0, and the four
numbers b00 b01 b10 b11 are learned. With b = 0 it is the sigmoid selection; b11 and b00 above b01 and b10 make
neighbours agree.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard import kernels
from regard.errors import RegardError
from regard.nn.selections import NOTHING, Given, Rescaled
from regard.structures import Segmentation


class Segments(Rescaled):
    """Marginals of a binary chain; the context is rescaled as in `Rescaled`.

    transitions   (2, 2) b[i, j] scores label i followed by label j; zero at first
    decay         the penalty on them is decay · ‖b‖²
    """

    joint = "positions"

    def __init__(self, *, normalize: float = 2.0, decay: float = 0.005) -> None:
        super().__init__(normalize=normalize)
        if decay < 0:
            raise RegardError(f"A penalty's weight must be at least 0; received {decay}.")
        self.decay = decay
        self.transitions = nn.Parameter(torch.zeros(2, 2))

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        B, T, S = scores.shape
        scores = scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
        if S < 2 or not kernels.available("segments", scores):
            return self.structure(scores, mask).marginals
        inside = torch.where(mask.unsqueeze(1), scores, -torch.inf)  # (B, T, S)
        extents = _extents(mask)
        return kernels.segment_marginals(
            inside.reshape(B * T, S),
            self.transitions.to(scores.dtype).expand(B * T, 2, 2),
            extents if T == 1 else extents.repeat_interleave(T),
        ).view(B, T, S)

    def structure(self, scores: Tensor, mask: Tensor) -> Segmentation:
        """The distribution itself, (B, T) chains: its mode, samples, entropy."""
        return Segmentation(
            scores,
            self.transitions.to(scores.dtype),
            lengths=_extents(mask).unsqueeze(1).expand(scores.shape[:2]),
            mask=mask.unsqueeze(1),
        )

    def penalty(self) -> Tensor:
        return self.decay * self.transitions.square().sum()


def _extents(mask: Tensor) -> Tensor:
    """(B,) one more than the last position that exists: places missing before it are outside every segment."""
    return (mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)).amax(1)
