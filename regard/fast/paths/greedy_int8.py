"""Greedy search on the CPU with weights as bytes."""

from __future__ import annotations

from regard.fast import whole_search
from regard.fast.kept import meanwhile
from regard.fast.paths.greedy_cpu import CHOICES, GreedyOnCPU, written
from regard.fast.steps_int8 import in_bytes, of_transformer, steps_lack
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.stepper import Bounds, Stepper
from regard.nn.search.token_by_token import TokenChoice, token_by_token
from regard.parts import register


@register("path", "greedy-int8")
class GreedyInBytes(GreedyOnCPU):
    """Greedy search in int8 on CPUs with VNNI, in one compiled kernel: all steps of a recurrent decoder, or each step
    of a Transformer."""

    serves = "search.tokens.int8"
    devices = ("cpu",)
    rank = 10

    @classmethod
    def machine_lacks(cls) -> str:
        return whole_search.bytes_lack()

    def takes(self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> bool:
        if whole_search.bytes_lack():
            return False
        if of_transformer(stepper):
            return CHOICES(choice) and not steps_lack(stepper)
        return super().takes(stepper, choice, bounds, hypotheses)

    def why_not(self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1) -> str:
        if lacking := whole_search.bytes_lack():
            return lacking
        if of_transformer(stepper):
            return steps_lack(stepper)
        return super().why_not(stepper, choice, bounds, hypotheses)

    def run(
        self, stepper: Stepper, choice: TokenChoice, bounds: Bounds, hypotheses: int = 1
    ) -> Hypotheses | None:
        if of_transformer(stepper):
            return token_by_token(in_bytes(stepper), choice, steps=bounds.steps, bounds=bounds)
        return meanwhile(lambda: written(stepper, bounds, "int8"), brief=whole_search.is_brief(stepper))
