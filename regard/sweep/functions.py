"""A sampler on a function of Python, to see what it does on a known surface."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from regard.errors import MissingExtra
from regard.sweep.ranges import given_ranges
from regard.sweep.samplers import GRID, SAMPLER, check_names, grid_points, make_sampler


def minimize_function(
    function: Callable[[Mapping[str, Any]], float],
    vary: Mapping[str, Any],
    *,
    trials: int,
    sampler: str | None = None,
    seed: int = 1,
) -> list[tuple[dict[str, Any], float]]:
    """The settings that a sampler tries, and their values."""
    try:
        import optuna
    except ImportError:
        raise MissingExtra("optuna", "sweep", "a search over settings") from None
    optuna.logging.set_verbosity(logging.ERROR)
    name = sampler or SAMPLER
    check_names(name, "none")
    ranges = given_ranges(vary)
    distributions = {path: one.distribution() for path, one in ranges.items()}
    points = grid_points(ranges) if name == GRID else []
    study = optuna.create_study(sampler=make_sampler(name, seed))
    tried: list[tuple[dict[str, Any], float]] = []
    for number in range(min(trials, len(points)) if points else trials):
        if points:
            study.enqueue_trial(dict(points[number]))
        trial = study.ask(distributions)
        values = {path: one.value(trial.params[path]) for path, one in ranges.items()}
        found = float(function(values))
        study.tell(trial, found)
        tried.append((values, found))
    return tried
