"""The log of a run: a CSV file, and the configured loggers."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.storage.files import naming, write_text
from regard.training.loggers import Logger, open_loggers

COLUMNS = ("step", "epoch", "seconds", "loss", "rate", "gradient_norm", "tokens_per_second")
FILE = "log.csv"


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
            self._loggers = open_loggers(loggers, run, step)

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

    def close(self) -> None:
        for logger in self._loggers:
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
