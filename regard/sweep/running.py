"""The loop of a sweep in one process: take a trial, train it, tell its value; at the end look at test once."""

from __future__ import annotations

import time
from typing import Any

from regard.cli.main import explained
from regard.data.sources import open_splits, with_absolute_paths, with_group
from regard.evaluation import measure, usual_split
from regard.model import load
from regard.sweep.claims import TEST
from regard.sweep.folder import open_folder, write_best
from regard.sweep.page import write_page
from regard.sweep.plan import SweepPlan
from regard.sweep.result import SweepResult, sweep_of
from regard.sweep.showing import Shown, make_shown
from regard.sweep.study import TESTS, SweepStudy, Taken, open_study
from regard.sweep.training import Lost, Pruned, open_run, run_folder, train_trial

WAITING = 1.0
"""Seconds between two looks at what other processes do."""


def run_sweep(plan: SweepPlan, *, quiet: bool = False) -> SweepResult:
    """Work on the study of a plan until all its trials are done, and return what it found."""
    check_data(plan)
    open_folder(plan)
    shown: Shown | None = None
    try:
        with open_study(plan) as study, make_shown(study, quiet=quiet) as shown:
            _work_on_all(study, shown)
            found = sweep_of(study)
            if found.best is not None:
                _look_at_test(study, found)
                found = sweep_of(study)
                write_best(plan, found)
            found.page = write_page(plan, found, study)
    except (KeyboardInterrupt, SystemExit):
        if shown is not None:
            shown.interrupted()
        raise
    shown.end(found)
    return found


def _work_on_all(study: SweepStudy, shown: Shown) -> None:
    """Take one trial after the other, until none is left; then wait for other processes, some of which may die."""
    while study.unfinished():
        taken = study.next()
        if taken is None:
            time.sleep(WAITING)
        else:
            _work(study, taken, shown)


def check_data(plan: SweepPlan) -> None:
    """Refuse data that no trial could read, before the first one starts."""
    if not any(path.startswith("data.") for path in plan.ranges):
        open_splits(with_group(with_absolute_paths(plan.base)))


def _work(study: SweepStudy, taken: Taken, shown: Shown) -> None:
    """Train one trial, and tell what became of it."""
    began = time.monotonic()
    try:
        study.complete(taken, train_trial(study, taken))
    except Pruned:
        study.prune(taken)
    except Lost:
        study.claims.release(taken.number)
    except Exception as error:
        if isinstance(error, OSError) or isinstance(error.__cause__, OSError):
            raise  # a full disk is no fault of the setting
        told = explained(error)
        reason = str(told) if told is not None else f"{type(error).__name__}: {error}"
        study.fail(taken, reason)
    shown.ended(taken, time.monotonic() - began)


def _look_at_test(study: SweepStudy, found: SweepResult) -> None:
    """Evaluate the runs of the best setting on test, if nobody has."""
    best = found.best
    assert best is not None
    while not any(one["trial"] == best.number for one in _tests(study)):
        if not study.claims.take(TEST):
            time.sleep(WAITING)
            continue
        try:
            if any(one["trial"] == best.number for one in _tests(study)):
                return
            scores = _test_scores(study.plan, best.number, best.values)
            done = len([one for one in found.trials if one.state != "running"])
            known = [*_tests(study), {"trial": best.number, "after": done, "scores": scores}]
            study.study.set_user_attr(TESTS, known)
        finally:
            study.claims.release(TEST)


def _tests(study: SweepStudy) -> list[dict[str, Any]]:
    return list(study.study.user_attrs.get(TESTS, []))


def _test_scores(plan: SweepPlan, number: int, values: dict[str, str]) -> dict[str, dict[str, float]]:
    """{seed: {metric: value}} on test; empty if the data have no test."""
    scores: dict[str, dict[str, float]] = {}
    for seed in plan.seeds:
        folder = run_folder(plan, number, seed)
        if not (folder / "metrics.json").is_file():  # it was trained on another machine
            experiment = open_run(plan, folder, plan.spec(values, seed))
            experiment.measured = ["dev"]
            experiment.train()
        model = load(folder, device=plan.device)
        if usual_split(model.spec) != ["test"]:
            return {}
        found = measure(model, splits=["test"])
        scores[str(seed)] = {name: float(score.value) for name, score in found.scores.items()}
    return scores
