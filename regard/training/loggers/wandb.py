"""Weights & Biases, if it is installed. WANDB_MODE=offline and its other settings work as usual."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import MissingExtra
from regard.parts import register
from regard.training.loggers.logger import Logger


@register("logger", "wandb")
class WeightsAndBiases(Logger):
    """Write the log to Weights & Biases: one run for each start or resumption, grouped by folder."""

    class Options(Logger.Options):
        project: str = "regard"
        """The project of the run."""
        name: str | None = None
        """The name of the run in Weights & Biases. Default: the name of the folder."""

    def __init__(self, options: Any, run: Path, step: int) -> None:
        super().__init__(options, run, step)
        try:
            import wandb
        except ImportError as error:
            raise MissingExtra("wandb", "wandb", "the logger wandb") from error
        place = (
            run.parent if run.name.startswith(".") else run
        )  # a run that replaces another is in a subfolder until its first checkpoint
        self._run: Any = wandb.init(
            project=options.project,
            name=options.name or place.name,
            group=str(place.resolve()),
            settings=wandb.Settings(console="off"),
        )

    def write(self, values: Mapping[str, float | int]) -> None:
        figures = {name.replace(".", "/"): value for name, value in values.items() if name != "step"}
        self._run.log(figures, step=int(values["step"]))

    def close(self) -> None:
        self._run.finish()
