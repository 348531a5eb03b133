"""Beam search on the CPU with weights as bytes."""

from __future__ import annotations

from regard.fast import whole_search
from regard.fast.kept import meanwhile
from regard.fast.paths.beam_cpu import BeamOnCPU, searched
from regard.nn.search.beam import Beam
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.stepper import Bounds, Stepper
from regard.parts import register


@register("path", "beam-int8")
class BeamInBytes(BeamOnCPU):
    """Beam search with a recurrent decoder in int8, all steps in one compiled kernel for CPUs with VNNI."""

    serves = "search.beam.int8"
    devices = ("cpu",)
    rank = 10

    @classmethod
    def machine_lacks(cls) -> str:
        return whole_search.bytes_lack()

    def takes(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> bool:
        return not whole_search.bytes_lack() and super().takes(beam, stepper, bounds)

    def why_not(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> str:
        return whole_search.bytes_lack() or super().why_not(beam, stepper, bounds)

    def run(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> Hypotheses | None:
        return meanwhile(lambda: searched(beam, stepper, bounds, "int8"))
