"""The budget: the number of updates per row with which all rows together take the given minutes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.course.matrix.plan import EVALUATIONS
from regard.data.sources import Splits
from regard.errors import RegardError
from regard.fitting.experiment import Experiment
from regard.spec import Spec
from regard.training import Callback

FIRST, TRIED = 20, 30
"""Updates before the timing starts, in which kernels are compiled, and updates in total."""
SOME = 100
"""Rows of dev that are evaluated to estimate the time for all of them."""
FEWEST = 10
"""Fewest updates for a meaningful matrix."""
ENTRY = 1.5
"""Seconds to build a row and to save its weights, besides its updates and evaluations."""


@dataclass(frozen=True)
class Pace:
    """Seconds per update, and per evaluation on dev."""

    update: float
    evaluation: float

    def cost(self, updates: int, *, shares: float) -> float:
        """Seconds of a row; `shares`: the number of test rows per dev row."""
        return updates * self.update + self.fixed(shares=shares)

    def fixed(self, *, shares: float) -> float:
        """Seconds of a row besides its updates."""
        return (EVALUATIONS + shares) * self.evaluation + ENTRY


class _Clock(Callback):
    def __init__(self) -> None:
        self.stepped: dict[int, float] = {}
        self.measured: dict[int, float] = {}

    def on_step(self, figures: dict[str, Any]) -> None:
        self.stepped[int(figures["step"])] = time.monotonic()

    def on_evaluation(self, figures: dict[str, Any]) -> None:
        self.measured[int(figures["step"])] = time.monotonic()


def pace_of(spec: Spec, splits: Splits, folder: Path, device: str | None) -> Pace:
    """Measure the pace of a few updates and an evaluation on some rows, in a temporary folder."""
    tried = spec.changed(f"training.steps={TRIED}", f"training.evaluate_every={FIRST}")
    dev = list(splits["dev"])
    some = dev[:SOME]
    with tempfile.TemporaryDirectory(prefix=".pace-", dir=folder) as temporary:
        experiment = Experiment(
            tried, Path(temporary) / "run", device=device, quiet=True, splits={**splits, "dev": some}
        )
        experiment.measured, clock = (), _Clock()
        experiment.callbacks = [clock]
        experiment.train()
    update = (clock.stepped[TRIED] - clock.measured[FIRST]) / (TRIED - FIRST)
    evaluation = clock.measured[TRIED] - clock.stepped[TRIED]
    return Pace(update, evaluation * len(dev) / len(some))


def shared_updates(paces: Mapping[str, Pace], seconds: float, *, shares: float) -> int:
    """The most updates that every row can have; a RegardError if there is time for fewer than FEWEST."""
    fixed = sum(pace.fixed(shares=shares) for pace in paces.values())
    each = sum(pace.update for pace in paces.values())
    updates = int((seconds - fixed) / each)
    if updates < FEWEST:
        needed = (fixed + 10 * FEWEST * each) / 60
        raise RegardError(
            f"the time is too short: {len(paces)} rows would have {max(updates, 0)} updates each.",
            where="--minutes",
            fix=f"Give them {needed:.0f} minutes more, or choose rows with --only.",
        )
    return updates
