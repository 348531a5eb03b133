"""Beam search on the CPU with weights as bytes."""

from __future__ import annotations

from regard.fast import whole_search
from regard.fast.kept import meanwhile
from regard.fast.paths.beam_cpu import BeamOnCPU, searched
from regard.fast.steps_int8 import in_bytes, of_transformer, steps_lack
from regard.nn.search.beam import Beam
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.stepper import Bounds, Stepper
from regard.parts import register


@register("path", "beam-int8")
class BeamInBytes(BeamOnCPU):
    """Beam search in int8 on CPUs with VNNI, in one compiled kernel: all steps of a recurrent decoder, or each step of
    a Transformer."""

    serves = "search.beam.int8"
    devices = ("cpu",)
    rank = 10

    @classmethod
    def machine_lacks(cls) -> str:
        return whole_search.bytes_lack()

    def takes(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> bool:
        if whole_search.bytes_lack():
            return False
        return not steps_lack(stepper) if of_transformer(stepper) else super().takes(beam, stepper, bounds)

    def why_not(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> str:
        if lacking := whole_search.bytes_lack():
            return lacking
        return steps_lack(stepper) if of_transformer(stepper) else super().why_not(beam, stepper, bounds)

    def run(self, beam: Beam, stepper: Stepper, bounds: Bounds) -> Hypotheses | None:
        if of_transformer(stepper):
            return beam.step_by_step(in_bytes(stepper), bounds)
        return meanwhile(
            lambda: searched(beam, stepper, bounds, "int8"), brief=whole_search.is_brief(stepper)
        )
