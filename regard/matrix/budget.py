"""The budget: so many updates for every row that all rows together take the minutes there are."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.experiment import Experiment
from regard.matrix.plan import EVALUATIONS
from regard.sources import Splits
from regard.spec import Spec
from regard.training import Callback

FIRST, TRIED = 20, 30
"""Updates after which dev is measured, and the clock is read: kernels are compiled in the first ones."""
SOME = 100
"""Rows of dev that are measured to know how long all of them take."""
FEWEST = 10
"""Updates below which a matrix says nothing."""
ENTRY = 1.5
"""Seconds to build a row and to keep its weights, beside its updates and evaluations."""


@dataclass(frozen=True)
class Pace:
    """Seconds of an update, and of measuring dev once."""

    update: float
    evaluation: float

    def cost(self, updates: int, *, shares: float) -> float:
        """Seconds of a row; `shares`: how many rows test has for each of dev."""
        return updates * self.update + self.fixed(shares=shares)

    def fixed(self, *, shares: float) -> float:
        """What a row takes however many updates it has."""
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
    """Measured by a few updates and an evaluation on some rows, in a folder that goes when they are made."""
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
    """The most updates that every row can have; a RegardError where there is time for next to none."""
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
