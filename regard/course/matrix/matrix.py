"""A matrix: trains the rows of a task one after the other, and saves each as soon as it is finished."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from torch import nn

from regard.course.matrix.budget import Pace, pace_of, shared_updates
from regard.course.matrix.mechanism import MECHANISMS, NAMES, Mechanism
from regard.course.matrix.plan import MatrixPlan, check_plan, read_plan, row_settings, row_spec
from regard.course.matrix.progress import Watch
from regard.course.matrix.table import MatrixRow, MatrixTable, measured, shown, title
from regard.course.matrix.task import Task
from regard.course.matrix.tasks import find_task
from regard.data.sources import Splits, open_splits
from regard.errors import RegardError
from regard.fitting.experiment import Experiment
from regard.model.building import count_parameters
from regard.nn.attention import Attention
from regard.parts import nearest
from regard.reporting.console import safe_console
from regard.runs.run import RunFolder
from regard.spec import Spec
from regard.storage.files import read_json, write_text

TEST = "test"


class MechanismMatrix:
    """matrix = MechanismMatrix("translation", minutes=10)
    matrix.run()
    matrix.table

    Every row has the same number of updates, seed and batches. The number is either given (`updates`) or
    chosen so that all rows of this call take `minutes` together; a folder that already has rows keeps their
    number.

    folder     where the rows are kept; default: runs/matrix-TASK
    only       mechanisms; default: all that fit the task
    settings   further changes of every spec, as for `--set`
    """

    def __init__(
        self,
        task: str,
        *,
        folder: Path | None = None,
        minutes: float = 10.0,
        updates: int | None = None,
        seed: int = 1,
        only: Sequence[str] = (),
        settings: Sequence[str] = (),
        device: str | None = None,
        console: Console | None = None,
    ) -> None:
        self.task, self.minutes, self.seed = find_task(task), minutes, seed
        self.folder = (folder or Path("runs") / f"matrix-{self.task.name}").expanduser()
        self.settings, self.device = tuple(settings), device
        self.console = console or safe_console(stderr=True)
        self.wanted = chosen_rows(self.task, only)
        self.rows: dict[str, MatrixRow] = {}
        self.failed: dict[str, str] = {}
        self._began = time.monotonic()
        self._asked = updates
        self.plan = read_plan(self.folder)
        if self.plan is not None:
            check_plan(self.plan, self.folder, task=task, seed=seed, settings=self.settings, updates=updates)
            self._read_rows(self.plan)
        else:
            self._spec(
                self.wanted[0], updates or 1
            )  # report errors in the settings before anything is written

    @property
    def table(self) -> MatrixTable:
        """The finished rows of the folder, and the unfinished ones of this call."""
        return MatrixTable(
            task=self.task,
            seed=self.seed,
            updates=0 if self.plan is None else self.plan.updates,
            rows=tuple(self.rows[name] for name in NAMES if name in self.rows),
            refused={one.name: why for one in MECHANISMS if (why := self.task.reason(one))},
            failed=dict(self.failed),
            waiting=tuple(
                one.name for one in self.wanted if one.name not in self.rows and one.name not in self.failed
            ),
            settings=self.settings,
        )

    def run(self) -> MatrixTable:
        """Train the unfinished rows. An interruption, such as Ctrl-C, keeps the finished ones."""
        pending = [mechanism for mechanism in self.wanted if mechanism.name not in self.rows]
        if not pending:
            return self.table
        self._refuse_strangers(pending)
        self.folder.mkdir(parents=True, exist_ok=True)
        splits = self._open(pending[0])
        if self.plan is not None and self._asked is None:
            finished = f"the {len(self.rows)} finished rows in {self.folder}"
            told = f"{self.plan.updates:,} updates for each row, as for {finished}"
            self.console.print(told, highlight=False, markup=False, soft_wrap=True)
        if self.plan is None:
            self.plan = self._planned(pending, splits)
        specs = {one.name: self._spec(one, self.plan.updates) for one in pending}
        self.plan = self.plan.with_specs(specs)
        self.plan.write(self.folder)
        costs = {one.name: self.plan.costs.get(one.name, 1.0) for one in pending}
        watch = Watch(self.console, costs, self.plan.updates, self.task.metric)
        try:
            for mechanism in pending:
                watch.begin(mechanism.name)
                self._row(mechanism, specs[mechanism.name], splits, watch)
        finally:
            watch.stop()
        return self.table

    def _refuse_strangers(self, pending: Sequence[Mechanism]) -> None:
        """Refuse to overwrite files that no matrix has written."""
        known = {} if self.plan is None else self.plan.digests
        for mechanism in pending:
            path = self._file(mechanism.name)
            if path.exists() and mechanism.name not in known:
                raise RegardError(
                    "this file does not belong to the matrix, and a row would overwrite it.",
                    where=str(path),
                    fix="Choose another folder with --runs.",
                )

    def _open(self, mechanism: Mechanism) -> Splits:
        """Load the data, once for all rows of the table."""
        splits = open_splits(self._spec(mechanism, 1))
        for split in ("dev", TEST):
            if split not in splits:
                raise RegardError(f"a matrix needs the split {split!r}.", where="data")
        return splits

    def _planned(self, pending: Sequence[Mechanism], splits: Splits) -> MatrixPlan:
        """The plan, with the number of updates as given or computed from a few timed updates of each row."""
        plan = MatrixPlan(self.task.name, self.seed, self._asked or 0, self.settings)
        if self._asked:
            return plan
        paces: dict[str, Pace] = {}
        for mechanism in pending:
            paces[mechanism.name] = pace_of(self._spec(mechanism, 1000), splits, self.folder, self.device)
            self.console.print(
                f"{mechanism.name:<12}{1000 * paces[mechanism.name].update:.0f} ms per update",
                highlight=False,
            )
        shares = len(list(splits[TEST])) / max(len(list(splits["dev"])), 1)
        left = 60 * self.minutes - (time.monotonic() - self._began)
        updates = shared_updates(paces, left, shares=shares)
        costs = {name: round(pace.cost(updates, shares=shares), 2) for name, pace in paces.items()}
        return replace(plan, updates=updates, costs=costs)

    def _row(self, mechanism: Mechanism, spec: Spec, splits: Splits, watch: Watch) -> None:
        try:
            experiment = self._experiment(mechanism.name, spec, splits)
            experiment.measured, experiment.callbacks = (TEST,), [watch]
            model = experiment.train()
        except RegardError as error:
            self.failed[mechanism.name] = str(error)
            watch.end(f"stopped: {error}")
            return
        assert self.plan is not None
        score, lengths, looks = measured(self.task, experiment.evaluations[TEST])
        trained = model.metrics["training"]
        row = MatrixRow(
            mechanism.name,
            score,
            lengths,
            looks,
            parameters=used_parameters(model.network),
            updates=trained["steps"],
            kept=trained["kept"],
            seconds_per_update=round(watch.pace(lambda: trained["seconds"] / max(trained["steps"], 1)), 5),
            seconds=trained["seconds"],
            settings=tuple(self._changes(mechanism, self.plan.updates)),
        )
        write_text(self._file(mechanism.name), json.dumps(asdict(row), ensure_ascii=False, indent=1) + "\n")
        self.rows[mechanism.name] = row
        value, bounds = shown(self.task.metric, score)
        watch.end(f"{title(self.task.metric)} {value} [{bounds}]")

    def _experiment(self, name: str, spec: Spec, splits: Splits) -> Experiment:
        """A new run of the row, or the interrupted one."""
        place, folder = self.folder / name, None
        with suppress(RegardError):  # there is none, or it has no checkpoint yet
            folder = RunFolder.resume(place)
        resumed = folder is not None
        if folder is None:
            folder = RunFolder.start(place, overwrite=True)
        return Experiment(spec, folder, device=self.device, quiet=True, resumed=resumed, splits=splits)

    def _spec(self, mechanism: Mechanism, updates: int) -> Spec:
        return row_spec(self.task, mechanism, updates=updates, seed=self.seed, settings=self.settings)

    def _changes(self, mechanism: Mechanism, updates: int) -> list[str]:
        return row_settings(self.task, mechanism, updates=updates, seed=self.seed, settings=self.settings)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _read_rows(self, plan: MatrixPlan) -> None:
        """Read the finished rows."""
        for mechanism in MECHANISMS:
            path = self._file(mechanism.name)
            if mechanism.name not in plan.digests or not path.is_file():
                continue
            try:
                self.rows[mechanism.name] = MatrixRow.from_data(dict(read_json(path)))
            except (OSError, ValueError, TypeError, KeyError):
                raise RegardError(
                    "this is not a row of a matrix.",
                    where=str(path),
                    fix="Remove it to train the row again.",
                ) from None


def used_parameters(network: nn.Module) -> int:
    """The number of parameters of the network, without the scores of selections that use none."""
    looks = [part for part in network.modules() if isinstance(part, Attention) and not part.select.learns]
    return count_parameters(network) - sum(count_parameters(look.score) for look in looks)


def chosen_rows(task: Task, only: Sequence[str]) -> list[Mechanism]:
    """The requested mechanisms in table order; default: all that fit the task."""
    known = {mechanism.name: mechanism for mechanism in MECHANISMS}
    for name in only:
        if name not in known:
            raise RegardError(f"there is no mechanism {name!r}.", where="--only", fix=nearest(name, NAMES))
        if reason := task.reason(known[name]):
            raise RegardError(f"{task.name} cannot have {name}: {reason}", where="--only")
    return [
        mechanism
        for mechanism in MECHANISMS
        if not task.reason(mechanism) and (not only or mechanism.name in only)
    ]
