"""Scoring: the log-probability of given outputs."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.packing import shifted
from regard.nn.search.hypotheses import Hypotheses, Unfinished
from regard.nn.search.stepper import Stepper
from regard.nn.search.token_by_token import token_by_token


def score(stepper: Stepper, target: Tokens) -> Hypotheses:
    """One hypothesis for each source: the given target, with its log-probability and attention."""
    target = stepper.targets(target)
    _, following, _ = shifted(target)
    following = following.scatter(1, target.lengths[:, None], stepper.end)

    return token_by_token(stepper, Forced(following), steps=following.shape[1])


@dataclass(frozen=True)
class Forced:
    """Writes the tokens (B, T), regardless of the logits."""

    following: Tensor
    most_probable: bool = False

    def given(self, unfinished: Unfinished, step: int, count: int) -> Tensor:
        return unfinished.pick(self.following[:, step : step + count]).t().unsqueeze(-1)

    def choose(self, logits: Tensor, given: Tensor | None) -> Tensor:
        assert given is not None
        return given
