"""The implementation of `regard evaluate`: load the models, measure them, and report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.cli.command import Loading
from regard.cli.loading import check_together, load_any
from regard.cli.reporting import TOGETHER, EvaluationReport
from regard.errors import RegardError
from regard.evaluation import PLACE, check_by, measure
from regard.model import AnyModel
from regard.reporting.console import DataProgress
from regard.spec.sections import SPLITS
from regard.storage.files import check_apart


@dataclass(frozen=True)
class Measurement:
    """What to measure, and on which data; default: from the spec.

    files     files of rows, in place of the spec's data
    splits    splits of the spec's data, concatenated
    metrics   names of metrics
    """

    files: Sequence[str] = ()
    splits: Sequence[str] = ()
    metrics: Sequence[str] = ()


def evaluate_runs(
    runs: Sequence[Path], others: Sequence[Path], wanted: Measurement, report: EvaluationReport, how: Loading
) -> None:
    """Measure each run, as an ensemble with the `others`, and report the results."""
    beside = [load_any(other, how) for other in others]
    models = [load_any(run, how) for run in runs]
    known = [name for model in models for split in SPLITS for name in getattr(model.spec.data, split)]
    check_apart(report.files, [*wanted.files, *known])
    for run, model in zip(runs, models, strict=True):
        check_together(model, beside, [run, *others])
    if report.compare:
        check_comparable(runs, models)
    if report.by:
        for model in models:
            check_by(report.by, columns_of(model))
    with DataProgress().shown("reading"):
        found = {
            TOGETHER.join(str(one) for one in (run, *others)): measure(
                model, wanted.metrics, files=wanted.files, splits=wanted.splits, ensemble=beside
            )
            for run, model in zip(runs, models, strict=True)
        }
    report.give(found, wanted.files or wanted.splits)


def columns_of(model: AnyModel) -> list[str]:
    """The columns by which rows can be grouped."""
    spec = model.spec
    texts = any(model.columns[name].can_be("text") for name in spec.outputs)
    return [*spec.inputs, *spec.outputs, *spec.truth, *([PLACE] if texts else [])]


def check_comparable(runs: Sequence[Path], models: Sequence[AnyModel]) -> None:
    """Refuse runs that cannot be compared with the first, before anything is measured."""
    if len(runs) < 2:
        raise RegardError(
            f"comparing needs at least two runs, received {len(runs)}.",
            where="--compare",
            fix="Name another run.",
        )
    places = [run.expanduser().resolve() for run in runs]
    twice = next((run for run, place in zip(runs, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise RegardError("this run is named twice.", where=f"--compare {twice}", fix="Name another run.")
    wanted = list(models[0].spec.outputs)
    for run, model in zip(runs[1:], models[1:], strict=True):
        if list(model.spec.outputs) != wanted:
            raise RegardError(
                f"{runs[0]} writes {', '.join(wanted)}, but {run} writes {', '.join(model.spec.outputs)}.",
                where="--compare",
                fix="Compare runs that write the same outputs.",
            )
