"""Which setting matters: the share of each in the differences between trials, by Optuna."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.sweep.study import SweepStudy

FEWEST = 4
"""Trials from which an importance is computed."""
FANOVA = "The share of each setting in the variance of the dev metric by fANOVA (Hutter et al., 2014)."
PED_ANOVA = (
    "How much each setting decides whether a trial is among the best tenth, by PED-ANOVA (Watanabe et al., 2023). "
    "With fewer than about fifty trials, take it as a hint."
)


def importance(study: SweepStudy) -> tuple[dict[str, float], str]:
    """The share of each setting, the largest first, and how it was computed; empty with too few trials."""
    from optuna.exceptions import ExperimentalWarning
    from optuna.importance import (
        FanovaImportanceEvaluator,
        PedAnovaImportanceEvaluator,
        get_param_importances,
    )
    from optuna.trial import TrialState

    done = [one for one in study.trials() if one.state == TrialState.COMPLETE]
    if len(done) < FEWEST or len({one.value for one in done}) < 2 or len(study.distributions) < 2:
        return {}, ""
    forests = find_spec("sklearn") is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        evaluator = FanovaImportanceEvaluator(seed=0) if forests else PedAnovaImportanceEvaluator()
        try:
            found = get_param_importances(study.study, evaluator=evaluator)
        except (RuntimeError, ValueError):  # too few different values of a setting
            return {}, ""
    shares = {path: float(share) for path, share in found.items() if share == share}
    if not any(shares.values()):
        return {}, ""
    return dict(sorted(shares.items(), key=lambda one: -one[1])), FANOVA if forests else PED_ANOVA
