"""Soundness: raise an error with place, reason and remedy if scores do not allow a search to continue."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.search.unfinished import Unfinished


def all_finite(numbers: Tensor) -> bool:
    """Whether no number is NaN or infinite, for the cost of one sum; also False if the sum overflows."""
    return math.isfinite(float(numbers.sum()))


def not_finite(where: str) -> RegardError:
    """The error of a model whose scores are NaN or +inf."""
    return RegardError(
        "the model's scores are not finite: the weights may be damaged or training diverged.",
        where=where,
        fix="Load another checkpoint, or train again with a lower learning rate or gradient clipping.",
    )


def check_scores(normalizers: Tensor, alive: Tensor, step: int, unfinished: Unfinished) -> None:
    """Raise if the logits of an unfinished hypothesis contain NaN or +inf.

    normalizers   (B', K) log Σ exp of the step's logits, before limits
    alive         (B', K) True for unfinished hypotheses
    """
    broken = alive & ~(normalizers < torch.inf)
    if bool(broken.any()):
        raise not_finite(_place(broken.any(1), step, unfinished))


def check_choices(scores: Tensor, alive: Tensor, step: int, unfinished: Unfinished) -> None:
    """Raise if an unfinished hypothesis had no possible choice; scores (B', K) of the chosen tokens."""
    stuck = alive & ~scores.isfinite()
    if bool(stuck.any()):
        raise _no_choice(_place(stuck.any(1), step, unfinished))


def check_outputs(scores: Tensor) -> None:
    """Raise if a source has no output; scores (B) of the best one."""
    missing = scores == -torch.inf
    if bool(missing.any()):
        raise _no_choice(f"search, row {int(missing.nonzero()[0]) + 1} of the batch")


def _place(rows: Tensor, step: int, unfinished: Unfinished) -> str:
    row = unfinished.numbers[int(rows.nonzero()[0])]
    return f"search, row {row + 1} of the batch, token {step + 1}"


def _no_choice(place: str) -> RegardError:
    return RegardError(
        "no choice is possible: the model excludes every token that the limits allow.",
        where=place,
        fix="Raise max_length, lower min_length or change the prefix. If none of these is set, check the "
        "decoder: until END is chosen, some token must have a finite score.",
    )
