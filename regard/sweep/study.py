"""The study of a sweep: its database, what it was made for, and the next trial for a process."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import Option, RegardError
from regard.private.studies import continued_trial
from regard.sweep.claims import Claims
from regard.sweep.plan import SweepPlan
from regard.sweep.samplers import make_pruner, make_sampler

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

PLAN, REASON, SEEDS, TESTS = "regard", "reason", "seeds", "tests"
"""Names of what regard adds to a study and its trials."""
MEANWHILE = ("already exists", "UNIQUE constraint", "duplicate key", "concurrently", "locked")
"""What databases say if another process makes the tables at the same time."""
ATTEMPTS = 8
"""How often a new database is tried."""
WAIT = 60.0
"""Seconds that SQLite waits for another process."""


@dataclass
class Taken:
    """A trial that this process works on.

    trial    for reports to the pruner; None if the trial was begun by another process and Optuna cannot go on with it
    """

    number: int
    drawn: dict[str, Any]
    seeds: dict[str, float]
    trial: Trial | None


class SweepStudy:
    """One study, as one process sees it."""

    def __init__(self, plan: SweepPlan, study: Study, claims: Claims) -> None:
        self.plan, self.study, self.claims = plan, study, claims
        self.distributions = {path: one.distribution() for path, one in plan.ranges.items()}

    def trials(self) -> list[FrozenTrial]:
        """The trials of the sweep, in their order; those that were never complete are left out."""
        found = self.study.get_trials(deepcopy=False)
        return [one for one in found if not self._is_stillborn(one)]

    def _is_stillborn(self, one: FrozenTrial) -> bool:
        from optuna.trial import TrialState

        return one.state == TrialState.FAIL and one.params.keys() != self.distributions.keys()

    def next(self) -> Taken | None:
        """A trial whose process died, or a new one; None if all that are left belong to living processes."""
        from optuna.trial import TrialState

        with self.claims.books():
            for one in self.trials():
                if one.state == TrialState.RUNNING and self.claims.take(one.number):
                    taken = self._continued(one)
                    if taken is not None:
                        return taken
            trials = self.trials()
            if len([one for one in trials if one.state != TrialState.WAITING]) >= self.plan.trials:
                return None
            if self.plan.points and not any(one.state == TrialState.WAITING for one in trials):
                self.study.enqueue_trial(dict(self.plan.points[len(trials)]))
            trial = self.study.ask(self.distributions)
            self.claims.take(trial.number)
            return Taken(trial.number, dict(trial.params), {}, trial)

    def _continued(self, frozen: FrozenTrial) -> Taken | None:
        from optuna.trial import TrialState

        trial = continued_trial(self.study, frozen)
        drawn = dict(frozen.params)
        if drawn.keys() != self.distributions.keys():  # its process died while it drew
            if trial is None:
                self.study.tell(frozen.number, state=TrialState.FAIL)
                self.claims.release(frozen.number)
                return None
            drawn = {path: _drawn(trial, path, one) for path, one in self.distributions.items()}
        return Taken(frozen.number, drawn, dict(frozen.user_attrs.get(SEEDS, {})), trial)

    def unfinished(self) -> list[int]:
        """The numbers of trials that some process works on, or will."""
        trials = self.trials()
        running = [one.number for one in trials if not one.state.is_finished()]
        return running or ([-1] if len(trials) < self.plan.trials else [])

    def complete(self, taken: Taken, value: float) -> None:
        self._tell(taken, value=value)

    def prune(self, taken: Taken) -> None:
        from optuna.trial import TrialState

        self._tell(taken, state=TrialState.PRUNED)

    def fail(self, taken: Taken, reason: str) -> None:
        from optuna.trial import TrialState

        self.note(taken, REASON, reason)
        self._tell(taken, state=TrialState.FAIL)

    def note(self, taken: Taken, key: str, value: Any) -> None:
        """Keep something with a trial."""
        trial = taken.trial or continued_trial(self.study, self._frozen(taken.number))
        if trial is not None:
            trial.set_user_attr(key, value)

    def _frozen(self, number: int) -> FrozenTrial:
        return next(one for one in self.study.get_trials(deepcopy=False) if one.number == number)

    def _tell(self, taken: Taken, value: float | None = None, state: Any = None) -> None:
        with self.claims.books():
            if self.claims.holds(taken.number):  # else another process has taken it over, and tells the same
                self.study.tell(taken.number, value, state=state, skip_if_finished=True)
        self.claims.release(taken.number)


def _drawn(trial: Trial, path: str, distribution: Any) -> Any:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(path, distribution.choices)
    suggest = trial.suggest_int if isinstance(distribution, IntDistribution) else trial.suggest_float
    options = {"log": distribution.log}
    if distribution.step is not None:
        options["step"] = distribution.step
    return suggest(path, distribution.low, distribution.high, **options)  # type: ignore[operator]


@contextmanager
def open_study(plan: SweepPlan) -> Iterator[SweepStudy]:
    """The study of a plan, made if it is new; refuses one that was made for other settings."""
    import optuna

    optuna.logging.set_verbosity(logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    storage = _storage(plan)
    claims = Claims(storage.engine, plan.study)
    try:
        with claims.books():
            study = optuna.create_study(
                storage=storage,
                study_name=plan.study,
                load_if_exists=True,
                direction="maximize" if plan.maximize else "minimize",
                sampler=make_sampler(plan.sampler, plan.seeds[0]),
                pruner=make_pruner(plan.pruner),
            )
            _check_plan(plan, study)
        yield SweepStudy(plan, study, claims)
    finally:
        claims.close()
        storage.engine.dispose()


def _check_plan(plan: SweepPlan, study: Study) -> None:
    known = study.user_attrs.get(PLAN)
    if known is None and not study.get_trials(deepcopy=False):
        study.set_user_attr(PLAN, plan.fingerprint())
    elif known != plan.fingerprint():
        raise RegardError(
            f"the study {plan.study!r} searches other settings, or another spec, metric or number of seeds.",
            where=plan.place,
            fix="Use the same command to continue it, or choose another folder with -o.",
        )


def _storage(plan: SweepPlan) -> Any:
    from optuna.storages import RDBStorage
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    options = (
        {"connect_args": {"timeout": WAIT}} if plan.url.startswith("sqlite") else {"pool_pre_ping": True}
    )
    for attempt in range(ATTEMPTS):
        try:
            return RDBStorage(plan.url, engine_kwargs=options)
        except ImportError as error:
            cause = error.__cause__ or error
            raise RegardError(
                f"this database needs a package that is not installed: {cause}.",
                where=Option("storage"),
                fix="For PostgreSQL, run: pip install 'psycopg[binary]', and write postgresql+psycopg://…",
            ) from None
        except (ArgumentError, ValueError) as error:
            raise RegardError(
                f"this is no address of a database: {str(error).splitlines()[0]}.",
                where=Option("storage"),
                fix="For example  --storage postgresql://user@host/database   or  sqlite:///study.db",
            ) from None
        except SQLAlchemyError as error:
            if attempt + 1 < ATTEMPTS and any(sign in str(error) for sign in MEANWHILE):
                time.sleep(0.2 * (attempt + 1))
                continue
            raise RegardError(
                f"the database cannot be opened: {str(getattr(error, 'orig', error)).splitlines()[0]}.",
                where=plan.place,
                fix="Check its address, and that it runs and may be written.",
            ) from None
    raise AssertionError("the last attempt returns or raises")
