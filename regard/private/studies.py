"""Trials of Optuna that another process began. Optuna promises them to the process that asked for them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial


def continued_trial(study: Study, frozen: FrozenTrial) -> Trial | None:
    """A running trial, to report to it; None if this version of Optuna cannot: it then goes on without a pruner."""
    from optuna.trial import Trial

    try:
        trial = Trial(study, frozen._trial_id)
        return trial if trial.number == frozen.number and trial.params == frozen.params else None
    except (AttributeError, TypeError):
        return None
