"""A logger: the number of each step on a line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import regard


@regard.register("logger", "steps")
class StepsLogger(regard.training.Logger):
    """RUN/steps.txt, one line for each row of log.csv."""

    files: ClassVar[tuple[str, ...]] = ("steps.txt",)

    def __init__(self, options: Any, run: Path, step: int) -> None:
        super().__init__(options, run, step)
        if not step:
            (run / "steps.txt").write_text("", encoding="utf-8")

    def write(self, values: Mapping[str, float | int]) -> None:
        with (self.run / "steps.txt").open("a", encoding="utf-8") as file:
            file.write(f"{values['step']}\n")
