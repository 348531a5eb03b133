"""Weights & Biases, if it is installed. WANDB_MODE=offline and its other settings work as usual."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import MissingExtra
from regard.parts import register
from regard.storage.files import write_text
from regard.training.loggers.logger import Logger

IDENTITY = "wandb-run.txt"


@register("logger", "wandb")
class WeightsAndBiases(Logger):
    """Write the log to Weights & Biases, with the settings of the run; a resumed run continues its run there."""

    class Options(Logger.Options):
        project: str = "regard"
        """The project of the run."""
        name: str | None = None
        """The name of the run in Weights & Biases. Default: the name of the folder."""
        tags: list[str] = []
        """Tags of the run."""

    files = (IDENTITY,)

    def __init__(self, options: Any, run: Path, step: int) -> None:
        super().__init__(options, run, step)
        try:
            import wandb
        except ImportError as error:
            raise MissingExtra("wandb", "wandb", "the logger wandb") from error
        identity = run / IDENTITY
        if step and identity.is_file():
            name = identity.read_text(encoding="utf-8").strip()
        else:
            name = secrets.token_hex(8)
            write_text(identity, f"{name}\n")
        self._run: Any = wandb.init(
            id=name,
            resume="allow",
            project=options.project,
            name=options.name or self.place.name,
            group=str(self.place.resolve()),
            tags=options.tags,
            config=self.settings(),
            settings=wandb.Settings(console="off"),
        )

    def write(self, values: Mapping[str, float | int]) -> None:
        figures = {name.replace(".", "/"): value for name, value in values.items() if name != "step"}
        self._run.log(figures, step=int(values["step"]))

    def close(self) -> None:
        self._run.finish(exit_code=0 if self.state == "finished" else 1)
