"""The learning rate as a function of the step, or of the history of the metric.

With η the rate of the spec, w the warm-up, m the minimum and t = 1, 2, … the next step:

    η · t / w                     while t ≤ w
    max(m, after_warmup(t))       after it; each schedule has its own
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Annotated, Any

from pydantic import Field

from regard.errors import RegardError
from regard.parts import NotNegative
from regard.parts import Options as PartOptions
from regard.parts.contract import base, optional, required


@base("schedule", gives=("options", "peak"), also=("total",), maker="__new__")
class Schedule(ABC):
    """Base class of schedules: the warm-up, and the minimum of falling schedules.

    peak    η, the rate after the warm-up
    total   the number of steps of the whole run, if it is known
    """

    class Options(PartOptions):
        warmup: Annotated[int, Field(ge=0)] = 0
        """Steps over which the rate rises from 0 to `lr`."""

    class FallingOptions(Options):
        """Options of a schedule that lowers the rate."""

        minimum: NotNegative = 0.0
        """The rate never falls below it."""

    def __init__(self, options: Any, peak: float, *, total: int | None = None) -> None:
        self.options, self.peak, self.total = options, peak, total

    def rate(self, step: int) -> float:
        """The rate of step 1, 2, …"""
        if step <= self.options.warmup:
            return float(self.peak * step / self.options.warmup)
        rate = self.after_warmup(step)
        if not isinstance(rate, int | float) or not 0 <= rate < math.inf:
            told = f"after_warmup({step}) returned {rate!r}, expected a rate of 0 or more"
            raise RegardError(f"the schedule {self.options.type}: {told}.")
        return float(max(rate, getattr(self.options, "minimum", 0.0)))

    @abstractmethod
    @required("before every update after the warm-up")
    def after_warmup(self, step: int) -> float:
        """The rate of a step after the warm-up."""

    @optional("after every evaluation")
    def observe(self, improved: bool) -> None:
        """Called after each evaluation; `improved`: whether the metric became better."""
        return

    @optional("at every checkpoint")
    def state(self) -> dict[str, Any]:
        """The state for a checkpoint, as JSON, so that a resumed run has the same rates."""
        return {}

    @optional("when a run is resumed")
    def restore(self, state: dict[str, Any]) -> None:
        """The inverse of `state`."""
        return

    @classmethod
    @optional("by `regard describe`")
    def described(cls, options: Any) -> str:
        """The text that `regard describe` writes after the rate: `, cosine after 100 steps of warm-up`."""
        warmup = f" after {options.warmup} steps of warm-up" if options.warmup else ""
        return f", {options.type}{warmup}"


def make_schedule(options: Any, peak: float, *, total: int | None = None) -> Schedule:
    """The schedule of some options, `cosine` or `plateau` for example."""
    made: Schedule = options.part(options, peak, total=total)
    return made
