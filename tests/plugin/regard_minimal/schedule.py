"""A schedule: the rate falls in stairs."""

from __future__ import annotations

import regard
from regard.parts import Count


@regard.register("schedule", "stairs")
class StairsSchedule(regard.training.Schedule):
    """η / k on the k-th stair."""

    class Options(regard.training.Schedule.FallingOptions):
        """The rate divided by 1, 2, 3 …"""

        stair: Count = 4
        """Steps on each stair."""

    def after_warmup(self, step: int) -> float:
        return self.peak / (1 + (step - self.options.warmup) // self.options.stair)
