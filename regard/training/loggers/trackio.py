"""Trackio, if it is installed: a local database that `trackio show` displays."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from regard.errors import MissingExtra
from regard.parts import register
from regard.training.loggers.logger import Logger


@register("logger", "trackio")
class Trackio(Logger):
    """Write the log to Trackio, in its folder on this machine (TRACKIO_DIR); `trackio show` displays it.

    Nothing is sent anywhere unless `space` names a Space of the Hugging Face Hub. A resumed run continues its run in
    Trackio, which has no name for how a run ended: the last row says so.
    """

    class Options(Logger.Options):
        project: str = "regard"
        """The project of the run."""
        name: str | None = None
        """The name of the run in Trackio. Default: the name of the folder."""
        space: str | None = None
        """A Space of the Hugging Face Hub, `user/name`, to which the figures are sent too. Default: none."""

    def __init__(self, options: Any, run: Path, step: int) -> None:
        super().__init__(options, run, step)
        try:
            import trackio
        except ImportError as error:
            raise MissingExtra("trackio", "trackio", "the logger trackio") from error
        self._step = step
        sent = {} if options.space is None else {"space_id": options.space}
        with redirect_stdout(io.StringIO()):
            self._run: Any = trackio.init(
                project=options.project,
                name=options.name or self.place.name,
                config=self.settings(),
                resume="allow" if step else "never",
                **sent,
            )

    def write(self, values: Mapping[str, float | int]) -> None:
        self._step = int(values["step"])
        figures = {name.replace(".", "/"): value for name, value in values.items() if name != "step"}
        self._run.log(figures, step=self._step)

    def close(self) -> None:
        with redirect_stdout(io.StringIO()):
            self._run.log({"state": self.state}, step=self._step)
            self._run.finish()
