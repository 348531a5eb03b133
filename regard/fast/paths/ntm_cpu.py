"""A step of the memory of a Neural Turing Machine in a compiled kernel for the CPU."""

from __future__ import annotations

from torch import Tensor

from regard.nn.path import Path, Replaces
from regard.nn.stores.ntm import NTMState, NTMStore
from regard.parts import register
from regard.private import apply
from regard.structures.kernels.availability import within_reach

STEPS = Replaces(NTMStore, methods=("_plain", "_bent"))
"""The methods that the kernel replaces."""


@register("path", "ntm-cpu")
class NTMOnCPU(Path):
    """A compiled kernel for the CPU: heads move, write and read, with their gradient."""

    serves = "ntm.step"
    devices = ("cpu",)
    rank = 10

    def takes(self, store: NTMStore, said: Tensor, state: NTMState) -> bool:
        return STEPS(store) and within_reach(said, *state, rows=len(said))

    def why_not(self, store: NTMStore, said: Tensor, state: NTMState) -> str:
        return "" if STEPS(store) else "A step of the store was changed."

    def run(self, store: NTMStore, said: Tensor, state: NTMState) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        from regard.fast.cpu.ntm import NTMStep

        slots, write, read, reads = apply(NTMStep, said, *state)
        return slots, write, read, reads
