"""Passes a run's figures from the ledger to the log and the progress display."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.training.callbacks import tell
from regard.training.log import Log
from regard.training.progress import Progress
from regard.training.state import TrainingState

LOG_EVERY = 10
"""Updates per row of the log."""
REFRESH = 0.5
"""Seconds after which the figures are fetched from the device and shown, if there is only one process."""


@dataclass(frozen=True)
class Due:
    """A row of the log that waits for its figures, and the seconds since the previous row."""

    row: dict[str, float]
    seconds: float


class Report:
    """Measures time, checks the figures, and writes the rows.

    Fetching the figures makes the host wait for the device, and then the device for the host. On an
    accelerator rows are therefore written late, several at a time.
    """

    def __init__(
        self, state: TrainingState, log: Log, progress: Progress, callbacks: Sequence[Any] = ()
    ) -> None:
        self.state, self.log, self.progress, self.callbacks = state, log, progress, callbacks
        self.alone = state.accelerator.num_processes == 1
        self.late = self.alone and state.accelerator.device.type != "cpu"
        self._due: list[Due] = []
        self._clock = self._refreshed = time.monotonic()

    def updated(self) -> None:
        """Called after each update. Raises RegardError if a loss was not finite."""
        if self.state.position.step % LOG_EVERY == 0:
            if not self.late:
                self.row()
                return
            seconds = self.lap()
            self._due.append(Due(self._place(), seconds))
        if self.alone and time.monotonic() - self._refreshed > REFRESH:
            self.refresh()

    def row(self, metrics: Mapping[str, float] | None = None) -> None:
        """Write a row of the log: the figures since the last row, and the metrics after an evaluation."""
        figures = self.refresh()
        self._write(self._place() | figures, metrics or {})

    def refresh(self) -> dict[str, float]:
        """Fetch, check and show the figures of the last updates."""
        self.catch_up()
        ledger, position = self.state.ledger, self.state.position
        self._refreshed = time.monotonic()
        ledger.interval.seconds += self.lap()
        figures = ledger.figures()
        if figures:
            self._show(figures)
            figures["rate"] = self.state.schedule.rate(position.step)
        return figures

    def catch_up(self) -> None:
        """Fetch and check all figures, and write the rows that waited for them."""
        ledger, due, self._due = self.state.ledger, self._due, []
        for one in due:
            ledger.settle(int(one.row["step"]))
            ledger.interval.seconds += one.seconds
            figures = ledger.figures()
            if one is due[-1]:
                self._show(figures)
            figures["rate"] = self.state.schedule.rate(int(one.row["step"]))
            self._write(one.row | figures, {})
        ledger.settle()

    def _place(self) -> dict[str, float]:
        position = self.state.position
        return {"step": position.step, "epoch": position.epochs_begun, "seconds": position.seconds}

    def _write(self, row: dict[str, float], metrics: Mapping[str, float]) -> None:
        self.log.write(row | {f"dev.{name}": value for name, value in metrics.items()})
        self.state.position.log_rows = self.log.rows
        if "loss" in row:
            tell(self.callbacks, "on_step", row)
        self.state.ledger.open_interval()

    def _show(self, figures: Mapping[str, float]) -> None:
        position = self.state.position
        self.progress.update(
            position.step, position.epochs_begun, figures["loss"], figures["tokens_per_second"]
        )

    def lap(self) -> float:
        """Seconds since the last lap, which are added to the time of the run."""
        before, self._clock = self._clock, time.monotonic()
        self.state.position.seconds += self._clock - before
        return self._clock - before
