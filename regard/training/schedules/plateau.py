"""A step down at each plateau: η · fᵏ, where k counts the plateaus of the metric so far."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from regard.parts import register
from regard.training.schedules.schedule import Schedule


@register("schedule", "plateau")
class PlateauSchedule(Schedule):
    """The rate is multiplied by `factor` whenever the metric stops improving."""

    class Options(Schedule.FallingOptions):
        factor: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
        """The factor by which the rate is multiplied at each plateau."""
        patience: Annotated[int, Field(ge=0)] = 2
        """A plateau is more than this many evaluations in a row without a better metric."""

    def __init__(self, options: Any, peak: float, *, total: int | None = None) -> None:
        super().__init__(options, peak, total=total)
        self.cuts = 0
        self.waited = 0

    def after_warmup(self, step: int) -> float:
        return float(self.peak * self.options.factor**self.cuts)

    def observe(self, improved: bool) -> None:
        self.waited = 0 if improved else self.waited + 1
        if self.waited > self.options.patience:
            self.cuts += 1
            self.waited = 0

    def state(self) -> dict[str, Any]:
        return {"cuts": self.cuts, "waited": self.waited}

    def restore(self, state: dict[str, Any]) -> None:
        self.cuts, self.waited = state["cuts"], state["waited"]
