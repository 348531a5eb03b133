"""Greedy search on the CPU in one compiled kernel for each thread."""

from __future__ import annotations

from typing import Any

import torch

from regard.data.batch import PAD
from regard.fast import whole_search
from regard.fast.allowed import unconstrained
from regard.fast.kept import begin_comparing, meanwhile
from regard.nn.path import Path, Replaces
from regard.nn.search.greedy import MostProbable
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.stepper import Bounds, Stepper
from regard.nn.search.token_by_token import TokenChoice
from regard.parts import register

CHOICES = Replaces(MostProbable)
"""The choice that the kernel makes."""


@register("path", "greedy-cpu")
class GreedyOnCPU(Path):
    """Greedy search with a recurrent decoder, all steps in one compiled kernel for the CPU."""

    serves = "search.tokens"
    devices = ("cpu",)
    rank = 10

    def takes(self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> bool:
        return CHOICES(choice) and hypotheses == 1 and whole_search.takes(stepper, bounds, 1)

    def why_not(self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> str:
        if not CHOICES(choice) or hypotheses != 1:
            return "The kernel writes the most probable tokens alone."
        return whole_search.lacks(stepper, bounds)

    def run(
        self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1
    ) -> Hypotheses | None:
        return meanwhile(lambda: written(stepper, bounds), brief=whole_search.is_brief(stepper))


@torch.no_grad()
def written(stepper: Stepper, bounds: Bounds, precision: str = "fp32") -> Hypotheses | None:
    """`token_by_token` with the most probable tokens; None if a score was not finite."""
    from regard.fast.cpu.greedy import PENDING, Written, write_part

    begun = whole_search.started(stepper, bounds, 1, precision)
    if begun is None:
        return None
    prepared, layers, how, start, allowed = begun
    rows, steps, positions = len(stepper.lengths), bounds.steps, prepared.memories.values.shape[1]
    parts = whole_search.parts_for(rows, 1)
    tensors = Written(
        torch.full((rows, steps), PAD),
        torch.zeros(rows, dtype=torch.int64),
        torch.zeros(rows, steps),
        torch.zeros(rows, steps, positions),
        torch.zeros(parts, dtype=torch.bool),
    )
    arrays = Written(*(tensor.numpy() for tensor in tensors))
    decoder: Any = unconstrained(stepper).decoder
    screen = None if precision == "int8" else prepared.weights.screen(decoder, rows // parts)
    shared = whole_search.shared_by(parts, PENDING, layers, screen, start)
    begin_comparing()
    given = (how, layers, screen, prepared.memories, start, allowed, arrays)
    whole_search.search_in(write_part, parts, shared, screen, *given)
    if bool(tensors.unsound.any()):
        return None
    longest = int(tensors.lengths.max()) if rows else 0
    tokens, scores, looks = (
        one[:, None, :longest] for one in (tensors.tokens, tensors.scores, tensors.attention)
    )
    return Hypotheses(
        tokens, tensors.lengths[:, None], scores.sum(-1), scores, {prepared.name: looks}, stepper.end
    )
