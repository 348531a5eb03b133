"""The log of a run: a CSV file, the configured loggers, and the figures on their way there and to the display."""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.storage.files import naming, write_text
from regard.training.loggers import Logger
from regard.training.loggers.logger import End
from regard.training.progress import Progress
from regard.training.state import TrainingState

COLUMNS = ("step", "epoch", "seconds", "loss", "rate", "gradient_norm", "tokens_per_second")
FILE = "log.csv"
LOG_EVERY = 10
"""Updates per row of the log."""
REFRESH = 0.5
"""Seconds after which the figures are fetched from the device and shown, if there is only one process."""


class Log:
    """RUN/log.csv, one row per `write`. Metrics that appear later get new columns.

    A resumed run passes the number of rows at its checkpoint; later rows are removed. `run` is None in the
    other processes of a launch, where nothing is written.
    """

    def __init__(
        self, run: Path | None, *, rows: int = 0, step: int = 0, loggers: Sequence[Any] = ()
    ) -> None:
        self.columns = list(COLUMNS)
        self.rows = 0
        self._path = run / FILE if run is not None else None
        self._loggers: list[Logger] = []
        if run is not None:
            run.mkdir(parents=True, exist_ok=True)
            self._replace(run / FILE, self._kept(run / FILE, rows))
            self._loggers = [one.part(one, run, step) for one in loggers]

    def write(self, values: Mapping[str, float | int]) -> None:
        if self._path is None:
            return
        new = [name for name in values if name not in self.columns]
        if new:
            kept = self._kept(self._path, self.rows)
            self.columns += new
            self._replace(self._path, kept)
        with naming(self._path), self._path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self.columns, restval="", lineterminator="\n").writerow(_written(values))
        self.rows += 1
        for logger in self._loggers:
            with _logging(logger, "write"):
                logger.write(values)

    def move(self, run: Path) -> None:
        """Continue in another folder, to which the file has been moved."""
        if self._path is None:
            return
        self._path = run / FILE
        for logger in self._loggers:
            with _logging(logger, "move"):
                logger.move(run)

    def _kept(self, path: Path, rows: int) -> list[dict[str, str]]:
        """The first `rows` rows of the file, and its columns."""
        if rows == 0 or not path.exists():
            return []
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            kept = [row for _, row in zip(range(rows), reader, strict=False)]
            self.columns = list(reader.fieldnames or COLUMNS)
        return kept

    def _replace(self, path: Path, rows: list[dict[str, str]]) -> None:
        """Replace the whole file atomically, with the current columns."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(path, text.getvalue())
        self.rows = len(rows)

    def sync(self) -> None:
        """Flush the file to disk before a checkpoint records the number of rows."""
        if self._path is not None:
            with naming(self._path), self._path.open("rb") as file:
                os.fsync(file.fileno())

    def close(self, state: End = "failed") -> None:
        for logger in self._loggers:
            logger.state = state
            logger.close()


@contextmanager
def _logging(logger: Logger, method: str) -> Iterator[None]:
    """Say which logger failed, and that the training can go on without it."""
    try:
        yield
    except (RegardError, OSError):
        raise
    except Exception as error:
        raise RegardError(
            f"the logger {logger.options.type}: {method} raised {type(error).__name__}: {error}.",
            fix="Correct it, or remove it from training.loggers.",
        ) from error


def _written(values: Mapping[str, float | int]) -> dict[str, str]:
    return {
        name: f"{value:.8g}" if isinstance(value, float) else str(value) for name, value in values.items()
    }


def tell(callbacks: Sequence[Any], event: str, figures: Mapping[str, Any]) -> None:
    """Call this method of each callback that has it, with a separate dict for each."""
    for callback in callbacks:
        method = getattr(callback, event, None)
        if method is not None:
            method(dict(figures))


def read_curve(run: Path, metric: str, most: int = 60) -> dict[str, Any]:
    """{metric, steps, values} of the evaluations in RUN/log.csv, thinned to at most `most`."""
    path = run / FILE
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row.get(f"dev.{metric}")]
    rows = rows[:: -(-len(rows) // most) or 1]
    values = [float(row[f"dev.{metric}"]) for row in rows]
    return {"metric": metric, "steps": [int(row["step"]) for row in rows], "values": values}


@dataclass(frozen=True)
class Due:
    """A row of the log that waits for its figures, and the seconds since the previous row."""

    row: dict[str, float]
    seconds: float


class UpdateReport:
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
