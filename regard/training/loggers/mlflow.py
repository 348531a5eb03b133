"""MLflow: a database in the folder of the run, or the server that is named."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import MissingExtra, RegardError
from regard.parts import register
from regard.storage.files import write_text
from regard.training.loggers.logger import Logger
from regard.version import __version__

DATABASE, IDENTITY = "mlflow.db", "mlflow-run.txt"
LONGEST = 500
"""Maximum length of the value of a setting in MLflow; the oldest supported version refuses longer ones."""
AT_ONCE = 100
"""Maximum number of settings in one request."""
QUIET = {"MLFLOW_LOGGING_LEVEL": "WARNING", "MLFLOW_DISABLE_TELEMETRY": "true"}
"""Settings of MLflow unless the user sets them: it prints no progress and reports nothing to its makers."""
STATUS = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}


@register("logger", "mlflow")
class MLflow(Logger):
    """Write the log to MLflow: settings as parameters, every figure by its step, and how the run ended.

    The figures go to RUN/mlflow.db (`mlflow ui --backend-store-uri sqlite:///RUN/mlflow.db`), unless `uri` or the
    environment variable MLFLOW_TRACKING_URI names another place. A resumed run continues its run in MLflow, which keeps
    the figures that were logged after the checkpoint; those that are computed again differently are added to them.
    """

    class Options(Logger.Options):
        uri: str | None = None
        """The tracking server or database, such as `http://127.0.0.1:5000` or `sqlite:///runs/mlflow.db`. Default:
        MLFLOW_TRACKING_URI, else a database in the folder of the run."""
        experiment: str = "regard"
        """The experiment of the run."""
        name: str | None = None
        """The name of the run in MLflow. Default: the name of the folder."""
        tags: dict[str, str] = {}
        """Tags of the run."""

    files = (DATABASE, IDENTITY)

    def __init__(self, options: Any, run: Path, step: int) -> None:
        super().__init__(options, run, step)
        self._client = self._connect()
        self._known: dict[tuple[str, int], float] = {}
        identity = run / IDENTITY
        if step and identity.is_file():
            self._id = identity.read_text(encoding="utf-8").strip()
            self._client.update_run(self._id, status="RUNNING")
            self._remember(step)
        else:
            self._id = self._begin()
            write_text(identity, f"{self._id}\n")

    def write(self, values: Mapping[str, float | int]) -> None:
        from mlflow.entities import Metric

        step, now = int(values["step"]), int(time.time() * 1000)
        figures = {_allowed(name): float(value) for name, value in values.items() if name != "step"}
        new = {name: value for name, value in figures.items() if self._known.get((name, step)) != value}
        self._client.log_batch(
            self._id, metrics=[Metric(name, value, now, step) for name, value in new.items()]
        )

    def move(self, run: Path) -> None:
        super().move(run)
        self._client = self._connect()

    def close(self) -> None:
        self._client.set_terminated(self._id, STATUS[self.state])

    def _connect(self) -> Any:
        uri = (
            self.options.uri
            or os.environ.get("MLFLOW_TRACKING_URI")
            or f"sqlite:///{self.run.resolve() / DATABASE}"
        )
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        try:
            from mlflow.tracking import MlflowClient

            if uri.startswith("sqlite:"):
                import alembic  # noqa: F401
                import sqlalchemy  # noqa: F401
        except ImportError as error:
            raise MissingExtra(error.name or "mlflow", "mlflow", "the logger mlflow") from error
        try:
            return MlflowClient(tracking_uri=uri)
        except Exception as error:
            raise RegardError(
                f"MLflow cannot be reached at {uri}: {error}.",
                where="training.loggers",
                fix="Correct its uri.",
            ) from error

    def _begin(self) -> str:
        from mlflow.entities import Param

        client, options = self._client, self.options
        try:
            found = client.get_experiment_by_name(options.experiment)
            # artifacts are not written, but a relative folder would be made for them
            where = str(self.place.resolve() / "mlflow-artifacts") if self._is_local() else None
            experiment = found.experiment_id if found else client.create_experiment(options.experiment, where)
            tags = {"regard.version": __version__, "regard.run": str(self.place.resolve()), **options.tags}
            begun = client.create_run(experiment, run_name=options.name or self.place.name, tags=tags)
        except Exception as error:
            raise RegardError(
                f"MLflow refused to begin a run: {error}.", where="training.loggers", fix="Correct its uri."
            ) from error
        settings = [Param(_allowed(name), str(value)[:LONGEST]) for name, value in self.settings().items()]
        for first in range(0, len(settings), AT_ONCE):
            client.log_batch(begun.info.run_id, params=settings[first : first + AT_ONCE])
        return str(begun.info.run_id)

    def _is_local(self) -> bool:
        return not (self.options.uri or os.environ.get("MLFLOW_TRACKING_URI"))

    def _remember(self, step: int) -> None:
        """The figures after the checkpoint, so that equal ones are not logged twice."""
        for name in self._client.get_run(self._id).data.metrics:
            for one in self._client.get_metric_history(self._id, name):
                if one.step > step:
                    self._known[name, one.step] = one.value


def _allowed(name: str) -> str:
    """The name with the characters that MLflow allows."""
    return re.sub(r"[^\w ./-]", "_", name, flags=re.ASCII)
