"""Samplers and pruners by name: Optuna's, each seeded by the number of its trial.

So two processes of one study never draw the same settings, and a sweep in one process is repeated exactly.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any

from regard.errors import Option, RegardError
from regard.parts import nearest
from regard.sweep.ranges import Range

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

SAMPLER, PRUNER = "tpe", "none"
"""What a sweep uses if it names none."""
GRID = "grid"
SAMPLERS = ("tpe", "random", GRID, "qmc", "gp", "cmaes")
PRUNERS = ("none", "median", "halving", "hyperband")
NEEDS = {"cmaes": "cmaes", "gp": "scipy", "qmc": "scipy"}
"""Packages that a sampler needs besides Optuna."""


def check_names(sampler: str, pruner: str) -> None:
    """Refuse an unknown sampler or pruner, and one whose package is not installed."""
    for option, name, known in (("sampler", sampler, SAMPLERS), ("pruner", pruner, PRUNERS)):
        if name not in known:
            raise RegardError(
                f"{name!r} is not a known {option}.", where=Option(option), fix=nearest(name, list(known))
            )
    if find_spec("optuna") is not None and find_spec(NEEDS.get(sampler, "optuna")) is None:
        raise RegardError(
            f"the sampler {sampler} needs {NEEDS[sampler]}, which is not installed.",
            where=Option("sampler"),
            fix=f"Run: pip install {NEEDS[sampler]}",
        )


def make_sampler(name: str, seed: int) -> BaseSampler:
    """The sampler of this name."""
    from optuna.exceptions import ExperimentalWarning
    from optuna.samplers import CmaEsSampler, GPSampler, QMCSampler, RandomSampler, TPESampler

    makers: dict[str, Callable[[int], BaseSampler]] = {
        "tpe": lambda number: TPESampler(seed=number),
        "random": lambda number: RandomSampler(seed=number),
        "gp": lambda number: GPSampler(seed=number),
        "cmaes": lambda number: CmaEsSampler(seed=number),
        GRID: lambda number: RandomSampler(seed=number),  # each trial gets its point of the grid
    }
    if name == "qmc":  # one sequence for all processes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            return QMCSampler(seed=seed % 2**32, scramble=True)
    return _seeded(makers[name], seed)


def _seeded(make: Callable[[int], BaseSampler], seed: int) -> BaseSampler:
    """A sampler that is made anew for each trial, with a seed of its own."""
    from numpy.random import SeedSequence
    from optuna.samplers import BaseSampler

    class SeededSampler(BaseSampler):
        """Draws the settings of a trial from its number and the trials before it."""

        def __init__(self) -> None:
            self.inner = make(0)

        def before_trial(self, study: Any, trial: Any) -> None:
            self.inner = make(int(SeedSequence([seed, trial.number]).generate_state(1)[0]))
            self.inner.before_trial(study, trial)

        def infer_relative_search_space(self, study: Any, trial: Any) -> Any:
            return self.inner.infer_relative_search_space(study, trial)

        def sample_relative(self, study: Any, trial: Any, search_space: Any) -> Any:
            return self.inner.sample_relative(study, trial, search_space)

        def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
            return self.inner.sample_independent(study, trial, param_name, param_distribution)

        def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
            self.inner.after_trial(study, trial, state, values)

    return SeededSampler()


def make_pruner(name: str) -> BasePruner:
    """The pruner of this name."""
    from optuna.pruners import HyperbandPruner, MedianPruner, NopPruner, SuccessiveHalvingPruner

    makers: dict[str, Callable[[], BasePruner]] = {
        "none": NopPruner,
        "median": MedianPruner,
        "halving": SuccessiveHalvingPruner,
        "hyperband": HyperbandPruner,
    }
    return makers[name]()


def grid_points(ranges: Mapping[str, Range]) -> Sequence[Mapping[str, Any]]:
    """All combinations of the values of some ranges, as drawn."""
    values: list[list[Any]] = []
    for path, one in ranges.items():
        points = one.points()
        if points is None:
            raise RegardError(
                f"a grid needs a list of values for {path}; {one.text()} has too many.",
                where=Option("sampler", GRID),
                fix=f"Write a step, {path}=LOW..HIGH:STEP, or choices, {path}=64,128,256.",
            )
        names = one.distribution().choices if hasattr(one.distribution(), "choices") else points  # type: ignore[attr-defined]
        values.append(list(names))
    return [dict(zip(ranges, point, strict=True)) for point in product(*values)]
