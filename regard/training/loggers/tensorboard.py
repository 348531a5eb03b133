"""RUN/tensorboard, for `tensorboard --logdir runs`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import MissingExtra
from regard.parts import register
from regard.training.loggers.logger import Logger


@register("logger", "tensorboard")
class TensorBoard(Logger):
    """Write the log for TensorBoard, in the folder `tensorboard` of the run."""

    class Options(Logger.Options):
        """No options."""

    files = ("tensorboard/events.out.tfevents.*",)

    def __init__(self, options: Any, run: Path, step: int) -> None:
        super().__init__(options, run, step)
        self._board = _open(run, step)

    def write(self, values: Mapping[str, float | int]) -> None:
        for name, value in values.items():
            if name not in ("step", "epoch"):
                self._board.add_scalar(name.replace(".", "/"), value, int(values["step"]))
        self._board.flush()  # the folder may be moved before the next row

    def move(self, run: Path) -> None:
        super().move(run)
        self._board.close()
        self._board = _open(run, 0)

    def close(self) -> None:
        self._board.close()


def _open(run: Path, step: int) -> Any:
    """Open the folder and drop events that were logged after `step` before a resumption."""
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError as error:
        raise MissingExtra("tensorboard", "tensorboard", "the logger tensorboard") from error
    return SummaryWriter(str(run / "tensorboard"), purge_step=step + 1 if step else None)
