"""Scoring: what a model thinks of outputs it is given."""

from __future__ import annotations

from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.search.active import Active
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.stepper import Stepper
from regard.nn.search.walk import walk
from regard.nn.targets import shifted


def score(stepper: Stepper, target: Tokens) -> Hypotheses:
    """One hypothesis for each source: the given target, with its log-probability and attention."""
    _, following, _ = shifted(target)
    following = following.scatter(1, target.lengths[:, None], stepper.end)

    def given(logits: Tensor, step: int, active: Active) -> Tensor:
        return active.pick(following[:, step : step + 1])

    return walk(stepper, given, steps=following.shape[1])
