"""What a sweep found: its trials, the best of them, and its test score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.sweep.plan import SweepPlan

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from regard.sweep.study import SweepStudy

STATES = {
    "COMPLETE": "done",
    "PRUNED": "pruned",
    "FAIL": "failed",
    "RUNNING": "running",
    "WAITING": "waiting",
}


@dataclass(frozen=True)
class SweepTrial:
    """One setting.

    number    its number; its runs are in OUT/trials/NUMBER/seed-SEED
    state     done, pruned, failed, running or waiting
    value     the mean of the dev metric over the seeds; None unless it is done
    values    {key path: value}, as they are typed
    seeds     {seed: dev metric}
    reason    why it failed
    seconds   from its start to its end; None while it runs
    command   trains it with the first seed, alone
    """

    number: int
    state: str
    value: float | None
    values: dict[str, str]
    seeds: Mapping[int, float] = field(default_factory=dict)
    reason: str = ""
    seconds: float | None = None
    folder: Path = Path()
    command: str = ""
    drawn: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class SweepResult:
    """The result of a sweep: `.best`, `.trials`, `.page`.

    metric    the dev metric that decides
    best      the trial with the best value; None if none is done
    test      {seed: {metric: value}} of the best on test; empty if the data have no test
    looks     how often test was looked at: once, unless the sweep was prolonged and found a better setting
    """

    metric: str
    maximize: bool
    trials: Sequence[SweepTrial]
    best: SweepTrial | None
    test: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    looks: int = 0
    folder: Path = Path()
    page: Path | None = None
    best_spec: Path | None = None

    def __repr__(self) -> str:
        done = [one for one in self.trials if one.state == "done"]
        told = f"Sweep of {len(self.trials)} trials, {len(done)} done"
        if self.best is None:
            return told
        settings = " ".join(f"{path}={value}" for path, value in self.best.values.items())
        return f"{told}; best dev {self.metric} {self.best.value:.4g}: {settings}"


def better(first: float, second: float, *, maximize: bool) -> bool:
    """Whether the first value is better than the second."""
    return first > second if maximize else first < second


def sweep_of(study: SweepStudy) -> SweepResult:
    """What a study holds now."""
    from regard.sweep.study import TESTS

    plan = study.plan
    trials = [_trial(plan, one) for one in study.trials()]
    done = [one for one in trials if one.value is not None]
    best = None
    for one in done:  # of equal ones, the first
        if best is None or better(one.value or 0.0, best.value or 0.0, maximize=plan.maximize):
            best = one
    tests = study.study.user_attrs.get(TESTS, [])
    looked = [one["scores"] for one in tests if best is not None and one["trial"] == best.number]
    scores: Mapping[str, Mapping[str, float]] = looked[0] if looked else {}
    return SweepResult(
        plan.metric,
        plan.maximize,
        trials,
        best,
        {int(seed): values for seed, values in scores.items()},
        len(tests),
        plan.output,
    )


def _trial(plan: SweepPlan, one: FrozenTrial) -> SweepTrial:
    from regard.sweep.study import REASON, SEEDS
    from regard.sweep.training import trial_folder

    whole = one.params.keys() == plan.ranges.keys()
    values = plan.values(one.params) if whole else {}
    state = STATES[one.state.name]
    return SweepTrial(
        number=one.number,
        state=state,
        value=one.value if state == "done" else None,
        values=values,
        seeds={int(seed): value for seed, value in one.user_attrs.get(SEEDS, {}).items()},
        reason=one.user_attrs.get(REASON, ""),
        seconds=None if one.duration is None else one.duration.total_seconds(),
        folder=trial_folder(plan, one.number),
        command=plan.command(values, plan.seeds[0]) if values else "",
        drawn=dict(one.params),
    )
