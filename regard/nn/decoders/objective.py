"""What a text decoder is trained for, beside the likelihood of its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from regard.nn.coverage import coverage_total
from regard.nn.decoders.unrolled import Unrolled
from regard.nn.guide import guide_total
from regard.nn.hard import Drawing
from regard.nn.memory import Memory
from regard.nn.packing import Packing


@dataclass(frozen=True)
class Taught:
    """What teachers would write: probabilities (N, V), packed as the targets are, and how much they count (0 to 1)."""

    probabilities: Tensor
    share: float


@dataclass(frozen=True)
class Objective:
    """
    smoothing   share of the target distribution spread over the whole vocabulary
    guide       weight of the loss between the selection and the true alignment, where that is given
    coverage    weight of Σ_s (1 − Σ_t α_ts)²
    drawing     how a selection that draws is learned
    """

    smoothing: float = 0.0
    guide: float = 0.0
    coverage: float = 0.0
    drawing: Drawing = field(default_factory=Drawing)

    def of_looks(
        self,
        unrolled: Unrolled,
        memories: Mapping[str, Memory],
        packing: Packing,
        truth: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What the looks cost: the weighted sum, and its parts without their weights."""
        total, parts = unrolled.readouts.new_zeros(()), {}
        if truth and self.guide:
            guide = torch.zeros_like(total)
            for name, alignment in truth.items():
                end = nn.functional.pad(alignment, (0, 0, 0, packing.width - alignment.shape[1]))
                guide = guide + guide_total(packing.pack(end), unrolled.looks[name])
            parts["guide"] = guide.detach()
            total = total + self.guide * guide
        if self.coverage:
            penalties = [
                coverage_total(weights, memories[name].mask, packing)
                for name, weights in unrolled.looks.items()
            ]
            coverage = torch.stack(penalties).sum()
            parts["coverage"] = coverage.detach()
            total = total + self.coverage * coverage
        return total, parts
