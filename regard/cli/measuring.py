"""What `evaluate` does once its options are read: open the models, measure them, and hand on what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.cli.loading import check_together, load
from regard.cli.options import Loading
from regard.cli.reporting import TOGETHER, EvaluationReport
from regard.data_progress import DataProgress
from regard.errors import RegardError
from regard.evaluation import measure
from regard.files import check_apart
from regard.model import Model
from regard.spec.data import SPLITS


@dataclass(frozen=True)
class Measurement:
    """What is measured, and on what; where nothing is named, as the spec says.

    files     of rows, instead of the spec's data
    splits    parts of the spec's data, put together
    metrics   their names
    """

    files: Sequence[str] = ()
    splits: Sequence[str] = ()
    metrics: Sequence[str] = ()


def evaluate_runs(
    runs: Sequence[Path], others: Sequence[Path], wanted: Measurement, report: EvaluationReport, how: Loading
) -> None:
    """Measure each run, together with the `others`, and report on all of them."""
    beside = [load(other, how) for other in others]
    models = [load(run, how) for run in runs]
    known = [name for model in models for split in SPLITS for name in getattr(model.spec.data, split)]
    check_apart(report.files, [*wanted.files, *known])
    for run, model in zip(runs, models, strict=True):
        check_together(model, beside, [run, *others])
    if report.compare:
        check_comparable(runs, models)
    with DataProgress().shown("reading"):
        found = {
            TOGETHER.join(str(one) for one in (run, *others)): measure(
                model, wanted.metrics, files=wanted.files, splits=wanted.splits, ensemble=beside
            )
            for run, model in zip(runs, models, strict=True)
        }
    report.give(found, wanted.files or wanted.splits)


def check_comparable(runs: Sequence[Path], models: Sequence[Model]) -> None:
    """Refuse, before anything is measured, runs that cannot be held against the first."""
    if len(runs) < 2:
        raise RegardError(
            f"comparing needs at least two runs, received {len(runs)}.",
            where="--compare",
            fix="Name another run.",
        )
    wanted = list(models[0].spec.outputs)
    for run, model in zip(runs[1:], models[1:], strict=True):
        if list(model.spec.outputs) != wanted:
            raise RegardError(
                f"{runs[0]} writes {', '.join(wanted)}, but {run} writes {', '.join(model.spec.outputs)}.",
                where="--compare",
                fix="Compare runs that write the same outputs.",
            )
