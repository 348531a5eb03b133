"""Searches over settings: trials that are runs, in one study. The folder can be taken away.

found = regard.sweep("my.yaml", vary={"encoder.size": "64..512", "encoder.cell": ["gru", "lstm"]}, trials=20)
found.best.values, found.best.value, found.page
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.spec.document import Change
    from regard.sweep.result import SweepResult

__all__ = ["minimize", "start"]


def start(
    what: str | PathLike[str],
    *,
    vary: Mapping[str, Any] | None = None,
    trials: int | None = None,
    seeds: int | None = None,
    sampler: str | None = None,
    pruner: str | None = None,
    storage: str | None = None,
    metric: str | None = None,
    output: str | PathLike[str] | None = None,
    changes: Sequence[Change] = (),
    source: Sequence[str] = (),
    target: str | None = None,
    device: str | None = None,
    quiet: bool = False,
) -> SweepResult:
    """Search over settings, and return what was found: `.best`, `.trials`, `.page`.

    what      a system of the zoo, a spec file, or a file of pairs
    vary      {key path: a range or a list of choices}: `{"encoder.size": "64..512", "encoder.cell": ["gru", "lstm"]}`
    trials    number of settings, in all processes that share the study
    seeds     number of seeds with which each setting is trained
    sampler   tpe, random, grid, qmc, gp or cmaes
    pruner    none, median, halving or hyperband
    storage   a URL that Optuna takes; default: SQLite in the folder
    metric    the dev metric that decides; default: `training.metric` of the spec
    output    the folder of the sweep; default: sweeps/NAME
    changes   settings of all trials: `["training.epochs=5"]`

    What is not given comes from the key `sweep` of the spec. The same call continues an interrupted sweep, and joins
    one that runs.
    """
    from pathlib import Path

    from regard.sweep.plan import make_plan
    from regard.sweep.running import run_sweep

    plan = make_plan(
        fspath(what),
        vary or {},
        trials=trials,
        seeds=seeds,
        sampler=sampler,
        pruner=pruner,
        storage=storage,
        metric=metric,
        output=None if output is None else Path(output),
        changes=changes,
        source=source,
        target=target,
        device=device,
    )
    return run_sweep(plan, quiet=quiet)


def minimize(
    function: Callable[[Mapping[str, Any]], float],
    vary: Mapping[str, Any],
    *,
    trials: int = 20,
    sampler: str | None = None,
    seed: int = 1,
) -> list[tuple[dict[str, Any], float]]:
    """The settings that a sampler tries on a function of your own, and their values, in their order.

    regard.sweep.minimize(lambda x: (x["a"] - 3) ** 2, {"a": "-10.0..10.0"}, trials=30)
    """
    from regard.sweep.functions import minimize_function

    return minimize_function(function, vary, trials=trials, sampler=sampler, seed=seed)


class _Room(ModuleType):
    """This room as a function: `regard.sweep("my.yaml", vary=…)`."""

    def __call__(self, what: str | PathLike[str], **options: Any) -> SweepResult:
        return start(what, **options)


sys.modules[__name__].__class__ = _Room
