"""Half a cosine (Loshchilov and Hutter 2017): m + (η − m) · ½ (1 + cos π (t − w)/(n − w)), n the last step."""

from __future__ import annotations

import math
from typing import Any

from regard.errors import RegardError
from regard.parts import register
from regard.training.schedules.schedule import Schedule


@register("schedule", "cosine")
class CosineSchedule(Schedule):
    """The rate falls along half a cosine, to the minimum at the last step."""

    class Options(Schedule.FallingOptions):
        """The warm-up and the minimum."""

    def __init__(self, options: Any, peak: float, *, total: int | None = None) -> None:
        super().__init__(options, peak, total=total)
        if total is None:
            raise RegardError(
                "a cosine schedule needs the number of steps, which is not known in advance.",
                where="training.schedule",
                fix="Give training.steps.",
            )
        self.last = total

    def after_warmup(self, step: int) -> float:
        length = max(self.last - self.options.warmup, 1)
        done = min((step - self.options.warmup) / length, 1.0)
        low: float = self.options.minimum
        return low + (self.peak - low) * 0.5 * (1.0 + math.cos(math.pi * done))
