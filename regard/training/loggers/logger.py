"""What a logger is: it gets every row of log.csv."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.parts import Options as PartOptions


class Logger(ABC):
    """One place figures go to, for one run.

    run    the folder of the run
    step   updates before this start: 0, or those of the checkpoint a run is resumed from; what an earlier life of the
           run logged after it is void
    """

    class Options(PartOptions):
        pass

    def __init__(self, options: Any, run: Path, step: int) -> None:
        self.options, self.run = options, run

    @abstractmethod
    def write(self, values: Mapping[str, float | int]) -> None:
        """A row of the log: `step`, and the figures by name, dev.* from an evaluation."""

    def move(self, run: Path) -> None:
        """The folder of the run is another one now, with all that was in it."""
        self.run = run

    def close(self) -> None:
        """The training is over, one way or another."""
        return


def open_loggers(options: Sequence[Any], run: Path, step: int) -> list[Logger]:
    return [one.part(one, run, step) for one in options]
