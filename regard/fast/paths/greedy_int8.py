"""Greedy search on the CPU with weights as bytes."""

from __future__ import annotations

from regard.fast import whole_search
from regard.fast.kept import meanwhile
from regard.fast.paths.greedy_cpu import GreedyOnCPU, written
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.stepper import Bounds, Stepper
from regard.nn.search.token_by_token import TokenChoice
from regard.parts import register


@register("path", "greedy-int8")
class GreedyInBytes(GreedyOnCPU):
    """Greedy search with a recurrent decoder in int8, all steps in one compiled kernel for CPUs with VNNI."""

    serves = "search.tokens.int8"
    devices = ("cpu",)
    rank = 10

    @classmethod
    def machine_lacks(cls) -> str:
        return whole_search.bytes_lack()

    def takes(self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> bool:
        return not whole_search.bytes_lack() and super().takes(stepper, choice, bounds, hypotheses)

    def why_not(self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> str:
        return whole_search.bytes_lack() or super().why_not(stepper, choice, bounds, hypotheses)

    def run(
        self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1
    ) -> Hypotheses | None:
        return meanwhile(lambda: written(stepper, bounds, "int8"))
