"""The constant schedule: η at every step after the warm-up."""

from __future__ import annotations

from typing import Any

from regard.parts import register
from regard.training.schedules.schedule import Schedule


@register("schedule", "constant")
class ConstantSchedule(Schedule):
    """The same rate at every step."""

    def after_warmup(self, step: int) -> float:
        return self.peak

    @classmethod
    def described(cls, options: Any) -> str:
        return super().described(options).removeprefix(f", {options.type}")
