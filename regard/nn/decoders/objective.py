"""The objective of a text decoder, beyond the likelihood of its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from regard.nn.coverage import coverage_total
from regard.nn.decoders.unrolled import Unrolled
from regard.nn.guided_attention import guide_total
from regard.nn.memory import Memory
from regard.nn.packing import Packing
from regard.nn.repetition import repetition_total


@dataclass(frozen=True)
class Distilled:
    """The predictions of other models: probabilities (N, V), packed as the targets are,
    and their weight (0 to 1)."""

    probabilities: Tensor
    weight: float


@dataclass(frozen=True)
class TextObjective:
    """
    smoothing   share of the target distribution that is spread evenly over the vocabulary
    guide       by attended memory, the weight of the loss between the selection and the true alignment, if
                given
    coverage    by attended memory, the weight of Σ_s (1 − Σ_t α_ts)²
    repetition  by attended memory, the weight of Σ_t Σ_s min(α_ts, Σ_{υ<t} α_υs)
    """

    smoothing: float = 0.0
    guide: Mapping[str, float] = field(default_factory=dict)
    coverage: Mapping[str, float] = field(default_factory=dict)
    repetition: Mapping[str, float] = field(default_factory=dict)

    def reads_looks(self, truth: Mapping[str, Tensor]) -> bool:
        """Whether the loss depends on the attention weights."""
        weights = [self.guide.get(name, 0.0) for name in truth]
        return any([*weights, *self.coverage.values(), *self.repetition.values()])

    def of_looks(
        self,
        unrolled: Unrolled,
        memories: Mapping[str, Memory],
        packing: Packing,
        truth: Mapping[str, Tensor],
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of the attention weights: the weighted sum, and its parts without their weights."""
        total: Tensor = unrolled.readouts.new_zeros(())
        parts: dict[str, Tensor] = {}

        def charge(name: str, weight: float, cost: Tensor) -> None:
            nonlocal total
            total = total + weight * cost
            parts[name] = parts.get(name, torch.zeros_like(total)) + cost.detach()

        for name, alignment in truth.items():
            if weight := self.guide.get(name, 0.0):
                end = nn.functional.pad(alignment, (0, 0, 0, packing.width - alignment.shape[1]))
                charge("guide", weight, guide_total(packing.pack(end), unrolled.looks[name]))
        for name, weight in self.coverage.items():
            if weight:
                looked = coverage_total(unrolled.looks[name], memories[name].mask, packing)
                charge("coverage", weight, looked)
        for name, weight in self.repetition.items():
            if weight:
                charge("repetition", weight, repetition_total(unrolled.looks[name], packing))
        return total, parts
