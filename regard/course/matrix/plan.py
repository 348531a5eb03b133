"""The plan of a matrix: the settings that all rows share, saved in their folder for later calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.course.matrix.mechanism import Mechanism
from regard.course.matrix.task import Task
from regard.errors import RegardError
from regard.parts import as_data
from regard.spec import Spec
from regard.storage.files import read_json, write_text
from regard.version import __version__
from regard.zoo import find

PLAN = "matrix.json"
EVALUATIONS = 5
"""Number of dev evaluations while a row is trained."""
WARMUP = 10
"""The learning-rate warm-up takes at most 1/WARMUP of the updates."""


@dataclass(frozen=True)
class MatrixPlan:
    """The budget of every row, and the other settings that all rows share.

    updates    of each row
    settings   further changes of every spec, by the user
    costs      {mechanism: estimated seconds of its row}; empty if they were not measured
    digests    {mechanism: digest of its spec}
    """

    task: str
    seed: int
    updates: int
    settings: tuple[str, ...] = ()
    costs: dict[str, float] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        content = {"regard": __version__, **asdict(self)}
        write_text(folder / PLAN, json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    def with_specs(self, specs: dict[str, Spec]) -> MatrixPlan:
        """The plan with these rows added; an error if a planned row now has another spec."""
        found = {name: digest(spec) for name, spec in specs.items()}
        for name, one in found.items():
            if self.digests.get(name, one) != one:
                raise RegardError(
                    f"the row {name} of this folder was planned with another spec: the system of the zoo has changed.",
                    where=PLAN,
                    fix="Choose another folder with --runs.",
                )
        return replace(self, digests={**self.digests, **found})


def read_plan(folder: Path) -> MatrixPlan | None:
    """The plan of a folder; None if there is none yet."""
    path = folder / PLAN
    if not path.exists():
        return None
    try:
        content: dict[str, Any] = dict(read_json(path))
        del content["regard"]
        return MatrixPlan(**{**content, "settings": tuple(content["settings"])})
    except (OSError, ValueError, TypeError, KeyError):
        raise RegardError(
            "this is not the plan of a matrix.", where=str(path), fix="Choose another folder with --runs."
        ) from None


def check_plan(
    plan: MatrixPlan, folder: Path, *, task: str, seed: int, settings: Sequence[str], updates: int | None
) -> None:
    """Refuse to put rows of another budget into the same table."""
    asked = {"task": task, "seed": seed, "settings": tuple(settings), "updates": updates or plan.updates}
    words = {"task": "the task", "seed": "--seed", "settings": "--set", "updates": "--updates"}
    for key, value in asked.items():
        known = getattr(plan, key)
        if known != value:
            raise RegardError(
                f"this folder holds rows with {words[key]} {_said(known)}, not {_said(value)}.",
                where=str(folder),
                fix="Choose another folder with --runs.",
            )


def row_spec(task: Task, mechanism: Mechanism, *, updates: int, seed: int, settings: Sequence[str]) -> Spec:
    """The spec of a row: the system of the zoo, what the mechanism changes, the budget, and the user's settings."""
    return find(task.system, row_settings(task, mechanism, updates=updates, seed=seed, settings=settings))


def row_settings(
    task: Task, mechanism: Mechanism, *, updates: int, seed: int, settings: Sequence[str]
) -> list[str]:
    changes = [
        *task.changes(mechanism, updates),
        "training.epochs=null",
        f"training.steps={updates}",
        f"training.evaluate_every={-(-updates // EVALUATIONS)}",
        f"training.seed={seed}",
        *settings,
        *task.measures(mechanism),
    ]
    warmup = getattr(find(task.system, changes).training.schedule, "warmup", 0)
    least = min(warmup, updates // WARMUP)
    return changes if least == warmup else [*changes, f"training.schedule.warmup={least}"]


def digest(spec: Spec) -> str:
    """Digest of a spec without its description."""
    data = {key: value for key, value in as_data(spec).items() if key != "description"}
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _said(value: Any) -> str:
    return (
        " ".join(value) or "(none)"
        if isinstance(value, tuple)
        else f"{value:,}"
        if isinstance(value, int)
        else value
    )
