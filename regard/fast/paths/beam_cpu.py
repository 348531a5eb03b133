"""Beam search on the CPU in one compiled kernel for each thread."""

from __future__ import annotations

import numpy as np
import torch

from regard.data.batch import PAD
from regard.fast import whole_search
from regard.fast.kept import begin_comparing, meanwhile
from regard.nn.path import Path, Replaces
from regard.nn.search.beam import Beam
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.stepper import Bounds, Stepper
from regard.parts import register

BEAMS = Replaces(Beam)
"""The search that the kernel computes."""


@register("path", "beam-cpu")
class BeamOnCPU(Path):
    """Beam search with a recurrent decoder, all steps in one compiled kernel for the CPU."""

    serves = "search.beam"
    devices = ("cpu",)
    rank = 10

    def takes(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> bool:
        return BEAMS(beam) and whole_search.takes(stepper, bounds, beam.size)

    def why_not(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> str:
        return whole_search.lacks(stepper, bounds) if BEAMS(beam) else "The search was changed."

    def run(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> Hypotheses | None:
        return meanwhile(lambda: searched(beam, stepper, bounds), brief=whole_search.is_brief(stepper))


@torch.no_grad()
def searched(beam: Beam, stepper: Stepper, bounds: Bounds, precision: str = "fp32") -> Hypotheses | None:
    """`Beam.step_by_step`; None if a score was not finite, or a source has no hypothesis."""
    from regard.fast.cpu.beam import BeamRecord, Ended, Found, beam_part

    begun = whole_search.started(stepper, bounds, beam.size, precision)
    if begun is None:
        return None
    prepared, layers, how, start, allowed = begun
    rows, steps, positions = len(stepper.lengths), bounds.steps, prepared.memories.values.shape[1]
    record = BeamRecord(
        np.empty((steps, rows, beam.size), np.int64),
        np.empty((steps, rows, beam.size), np.int64),
        np.empty((steps, rows, beam.size), np.float32),
        np.empty((steps, rows, beam.size, positions), np.float32),
    )
    ended = Ended(
        np.full((rows, beam.size), -np.inf, np.float32),
        np.full((rows, beam.size), -np.inf, np.float32),
        np.zeros((rows, beam.size), np.int64),
        np.zeros((rows, beam.size), np.int64),
    )
    parts = whole_search.parts_for(rows, beam.size)
    penalties = [((6 + step) / 6) ** beam.length_penalty for step in range(steps)]
    tensors = Found(
        torch.full((rows, beam.best, steps), PAD),
        torch.zeros(rows, beam.best, dtype=torch.int64),
        torch.zeros(rows, beam.best, steps),
        torch.zeros(rows, beam.best, steps, positions),
        torch.tensor(penalties),
        torch.zeros(parts, dtype=torch.bool),
    )
    found = Found(*(tensor.numpy() for tensor in tensors))
    shared = whole_search.shared_by(parts, rows * beam.size, layers, None, start)
    begin_comparing()
    given = (how, layers, prepared.memories, start, allowed, record, ended, found)
    whole_search.search_in(beam_part, parts, shared, None, *given)
    if bool(tensors.unsound.any()):
        return None
    longest = int(tensors.lengths.max()) if rows else 0
    return Hypotheses(
        tensors.tokens[..., :longest],
        tensors.lengths,
        torch.from_numpy(ended.totals[:, : beam.best].copy()),
        tensors.token_scores[..., :longest],
        {prepared.name: tensors.attention[:, :, :longest]},
        stepper.end,
    )
