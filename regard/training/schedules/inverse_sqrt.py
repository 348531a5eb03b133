"""The inverse square root of the step (Vaswani et al. 2017): η · √(w / t), w at least 1."""

from __future__ import annotations

import math

from regard.parts import register
from regard.training.schedules.schedule import Schedule


@register("schedule", "inverse-sqrt")
class InverseSquareRootSchedule(Schedule):
    """The rate falls as 1/√t from its peak at the end of the warm-up."""

    class Options(Schedule.FallingOptions):
        """The warm-up and the minimum."""

    def after_warmup(self, step: int) -> float:
        return self.peak * math.sqrt(max(self.options.warmup, 1) / step)
