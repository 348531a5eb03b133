"""The learning rate as a function of the step, or of how the metric has been doing.

With η the rate of the spec, w the warm-up, n the last step and t = 1, 2, … the step about to be taken:

    warm-up        η · t / w                                  while t ≤ w, whatever comes after
    constant       η
    cosine         m + (η − m) · ½ (1 + cos π (t − w)/(n − w)) with m the minimum
    inverse-sqrt   η · √(w / t)                               w at least 1
    plateau        η · fᵏ                                     k times the metric stood still for `patience` evaluations

No rate after the warm-up falls below the minimum.
"""

from __future__ import annotations

import math
from typing import Any

from regard.errors import RegardError
from regard.spec.training import ScheduleSpec


class Schedule:
    """The constant schedule, and what all of them share: the warm-up and the floor."""

    def __init__(self, peak: float, options: ScheduleSpec) -> None:
        self.peak, self.options = peak, options

    def rate(self, step: int) -> float:
        """The rate of step 1, 2, …"""
        if step <= self.options.warmup:
            return self.peak * step / self.options.warmup
        return max(self.after_warmup(step), self.options.minimum)

    def after_warmup(self, step: int) -> float:
        return self.peak

    def observe(self, improved: bool) -> None:
        """Hears after each evaluation whether the metric became better."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Takes back what `state` gave."""


class Cosine(Schedule):
    def __init__(self, peak: float, options: ScheduleSpec, total: int) -> None:
        super().__init__(peak, options)
        self.total = total

    def after_warmup(self, step: int) -> float:
        length = max(self.total - self.options.warmup, 1)
        done = min((step - self.options.warmup) / length, 1.0)
        low = self.options.minimum
        return low + (self.peak - low) * 0.5 * (1.0 + math.cos(math.pi * done))


class InverseSquareRoot(Schedule):
    def after_warmup(self, step: int) -> float:
        return self.peak * math.sqrt(max(self.options.warmup, 1) / step)


class Plateau(Schedule):
    def __init__(self, peak: float, options: ScheduleSpec) -> None:
        super().__init__(peak, options)
        self.cuts = 0
        self.waited = 0

    def after_warmup(self, step: int) -> float:
        return self.peak * self.options.factor**self.cuts

    def observe(self, improved: bool) -> None:
        self.waited = 0 if improved else self.waited + 1
        if self.waited > self.options.patience:
            self.cuts += 1
            self.waited = 0

    def state(self) -> dict[str, Any]:
        return {"cuts": self.cuts, "waited": self.waited}

    def restore(self, state: dict[str, Any]) -> None:
        self.cuts, self.waited = state["cuts"], state["waited"]


def make_schedule(peak: float, options: ScheduleSpec, *, total: int | None) -> Schedule:
    """`total` is the number of steps of the whole run, where it is known."""
    if options.type == "plateau":
        return Plateau(peak, options)
    if options.type == "inverse-sqrt":
        return InverseSquareRoot(peak, options)
    if options.type == "cosine":
        if total is None:
            raise RegardError(
                "a cosine schedule has to know the last step, and the number of batches is not known beforehand.",
                where="training.schedule",
                fix="Give training.steps.",
            )
        return Cosine(peak, options, total)
    return Schedule(peak, options)
