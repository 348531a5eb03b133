"""One trial: a setting, trained with each seed in a run folder of its own, by the code of `regard train`.

A run that was interrupted goes on from its last checkpoint, to the same bits. Only dev is evaluated.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.evaluation import Evaluation
from regard.fitting.experiment import Experiment
from regard.runs.run import RunFolder, contains_run
from regard.spec import Spec
from regard.storage.manifest import STATE_FILE
from regard.sweep.plan import SweepPlan
from regard.sweep.study import SEEDS, SweepStudy, Taken
from regard.training import Callback

TRIALS_FOLDER = "trials"


class Pruned(Exception):
    """The pruner ends this trial."""


class Lost(Exception):
    """Another process has taken this trial over, because this one was silent for too long."""


def trial_folder(plan: SweepPlan, number: int) -> Path:
    """The folder of a trial."""
    return plan.output / TRIALS_FOLDER / f"{number:04d}"


def run_folder(plan: SweepPlan, number: int, seed: int) -> Path:
    """The folder of the run of a trial with a seed."""
    return trial_folder(plan, number) / f"seed-{seed}"


def train_trial(study: SweepStudy, taken: Taken) -> float:
    """Train a setting with each seed; the mean of the dev metric."""
    plan = study.plan
    values = plan.values(taken.drawn)
    for seed in plan.seeds:
        if str(seed) in taken.seeds:
            continue
        watch = Reporter(study, taken, plan, prunes=seed == plan.seeds[0])
        experiment = open_run(plan, run_folder(plan, taken.number, seed), plan.spec(values, seed))
        experiment.measured, experiment.callbacks = ["dev"], (watch,)
        experiment.train()
        value = dev_value(experiment, plan.metric)
        if not math.isfinite(value):
            raise RegardError(f"dev {plan.metric} is {value}.", where=f"seed {seed}")
        taken.seeds[str(seed)] = value
        study.note(taken, SEEDS, taken.seeds)
    return math.fsum(taken.seeds[str(seed)] for seed in plan.seeds) / len(plan.seeds)


def open_run(plan: SweepPlan, folder: Path, spec: Spec) -> Experiment:
    """The run in this folder, resumed if it has a checkpoint, else started."""
    if (folder / STATE_FILE).is_file() or (folder / ".regard-next" / STATE_FILE).is_file():
        return Experiment.resume(folder, device=plan.device, quiet=True)
    started = RunFolder.start(folder, overwrite=contains_run(folder))
    return Experiment(spec, started, device=plan.device, quiet=True)


def dev_value(experiment: Experiment, metric: str) -> float:
    """The metric of the final evaluation on dev, with the search of the spec."""
    found: Evaluation = experiment.evaluations["dev"]
    if metric not in found.scores:
        found = experiment.evaluate("dev", [metric])
    return float(found.scores[metric].value)


class Reporter(Callback):
    """Reports the dev metric of each evaluation to the pruner, and stops a trial that was taken over."""

    def __init__(self, study: SweepStudy, taken: Taken, plan: SweepPlan, *, prunes: bool) -> None:
        self.study, self.taken, self.prunes = study, taken, prunes and plan.pruner != "none"
        self.metric = plan.metric
        self.every = plan.base.training.evaluate_every

    def on_evaluation(self, figures: dict[str, Any]) -> None:
        """Stop the training if the trial is lost, or not worth going on."""
        if not self.study.claims.holds(self.taken.number):
            raise Lost
        trial = self.taken.trial
        if not self.prunes or trial is None:
            return
        value = figures[self.metric]
        place = int(figures["epoch"]) if self.every is None else -(-int(figures["step"]) // self.every)
        if math.isfinite(value):
            trial.report(value, place)
        if trial.should_prune():
            raise Pruned
