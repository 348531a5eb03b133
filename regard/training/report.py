"""Where a run's figures go: from the ledger to the log and to the person watching."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from regard.training.callbacks import tell
from regard.training.log import Log
from regard.training.progress import Progress
from regard.training.state import TrainingState

LOG_EVERY = 10
"""Updates per row of the log; the figures of so many are fetched from the device together."""
REFRESH = 0.5
"""Seconds after which one process alone brings the progress up to date even so."""


class Report:
    """Keeps the time, checks the figures, writes the rows."""

    def __init__(
        self, state: TrainingState, log: Log, progress: Progress, callbacks: Sequence[Any] = ()
    ) -> None:
        self.state, self.log, self.progress, self.callbacks = state, log, progress, callbacks
        self.alone = state.accelerator.num_processes == 1
        self._clock = self._refreshed = time.monotonic()

    def updated(self) -> None:
        """After each update. Raises RegardError when a loss was not a number."""
        if self.state.position.step % LOG_EVERY == 0:
            self.row()
        elif self.alone and time.monotonic() - self._refreshed > REFRESH:
            self.refresh()

    def row(self, metrics: Mapping[str, float] | None = None) -> None:
        """A row of the log: the figures since the last one, and the metrics where there was an evaluation."""
        figures = self.refresh()
        position = self.state.position
        row = {"step": position.step, "epoch": position.epochs_begun, "seconds": position.seconds} | figures
        self.log.write(row | {f"dev.{name}": value for name, value in (metrics or {}).items()})
        position.log_rows = self.log.rows
        if "loss" in row:
            tell(self.callbacks, "on_step", row)
        self.state.ledger.open_interval()

    def refresh(self) -> dict[str, float]:
        """Fetches and checks the figures of the last updates, and shows them."""
        ledger, position = self.state.ledger, self.state.position
        ledger.settle()
        self._refreshed = time.monotonic()
        ledger.interval.seconds += self.lap()
        figures = ledger.figures()
        if figures:
            self.progress.update(
                position.step, position.epochs_begun, figures["loss"], figures["tokens_per_second"]
            )
            figures["rate"] = self.state.schedule.rate(position.step)
        return figures

    def lap(self) -> float:
        """Seconds since the last lap, added to those of the run."""
        before, self._clock = self._clock, time.monotonic()
        self.state.position.seconds += self._clock - before
        return self._clock - before
