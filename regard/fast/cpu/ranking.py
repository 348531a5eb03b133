# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""From the inputs of the output layer to the best words of each row, without keeping the logits.

The output layer is computed a few hundred words at a time, for all rows. While they are in the cache, their logits are
added to log Σ exp of each row and compared with the best so far. The sums of a row do not depend on the other rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.best import above, gather_best, highest_of, insert, summed
from regard.fast.cpu.either import panels_in, read_rows
from regard.fast.cpu.product import Window
from regard.fast.cpu.step import Layers
from regard.fast.cpu.tile import WIDTH
from regard.fast.cpu.together import Team, multiply_some_together
from regard.structures.kernels.cpu.compilation import part
from regard.structures.kernels.cpu.exponential import exponential

Array = Any
PANELS = 256 // WIDTH
"""Panels of the output layer that are computed at once."""


class Ranked(NamedTuple):
    """The result for n rows, and scratch.

    normalizers     (n) log Σ exp of all logits
    values, words   (n, C) the best allowed words, best first; −inf if there are fewer
    highest         (n) scratch   logits (n, members · PANELS · WIDTH) scratch
    """

    normalizers: Array
    values: Array
    words: Array
    highest: Array
    logits: Array


class Bound(NamedTuple):
    """The constraint of n rows: its table, as in `Allowed`, their states (n), and the words left after the next."""

    after: Array
    needed: Array
    missing: Array
    states: Array
    left: Array


@part
def room_to_rank(count: int, best: int, members: int, like: Any) -> Ranked:
    kind = like.dtype
    return Ranked(
        np.empty(count, kind),
        np.empty((count, best), kind),
        np.empty((count, best), np.int64),
        np.empty(count, kind),
        np.empty((count, members * PANELS * WIDTH), kind),
    )


@part
def _add(row: Array, i: int, ranked: Ranked) -> Any:
    """Add the logits of some words to log Σ exp, kept as a maximum and a sum relative to it. Returns their maximum."""
    highest, before = highest_of(row), ranked.highest[i]
    if highest > before or highest != highest:
        ranked.normalizers[i] *= exponential(before - highest)
        ranked.highest[i] = highest
    ranked.normalizers[i] += summed(row, ranked.highest[i])
    return highest


@part
def _forbid(row: Array, targets: Array, needed: Array, left: int) -> None:
    """Forbid the words of a row that lead to states from which the end is too far."""
    for j in range(len(row)):
        if needed[targets[j]] > left:
            row[j] = -np.inf


@part
def _keep_nearer(row: Array, targets: Array, missing: Array, here: int) -> None:
    """Forbid the words of a row that do not lead to a bank nearer to the end."""
    for j in range(len(row)):
        if missing[targets[j]] >= here:
            row[j] = -np.inf


@part
def rank(
    team: Team,
    count: int,
    said: Window,
    layers: Layers,
    forbidden: Array,
    only: Array,
    bound: Bound,
    ranked: Ranked,
    nearer: Ranked,
) -> None:
    """Rank the words of `count` rows.

    said        the inputs of the output layer
    forbidden   words that are not allowed
    only        (n) the only word that is allowed in a row; −1: all others are too
    nearer      where to put the best words that lead to a bank nearer to the end, if the constraint has banks
    """
    banked = len(bound.missing) > 0
    vocabulary = len(layers.output_bias)
    for i in range(count):
        ranked.highest[i] = -np.inf
        ranked.normalizers[i] = 0
        ranked.values[i, :] = -np.inf
        ranked.words[i, :] = 0
        if banked:
            nearer.values[i, :] = -np.inf
            nearer.words[i, :] = 0
    given = read_rows(count, said, layers.output)
    panels, at_once = panels_in(layers.output), PANELS * team.members
    for first in range(0, panels, PANELS):
        if first % at_once == 0:
            some = min(at_once, panels - first)
            multiply_some_together(team, first, some, count, said, given, layers, ranked.logits)
        low, begin = first * WIDTH, first % at_once * WIDTH
        wide = min(PANELS * WIDTH, vocabulary - low)
        for i in range(count):
            row = ranked.logits[i, begin : begin + wide]
            highest = _add(row, i, ranked)
            for word in forbidden:
                if low <= word < low + wide:
                    row[word - low] = -np.inf
            if len(bound.after) > 0:
                targets = bound.after[bound.states[i], low : low + wide]
                _forbid(row, targets, bound.needed, bound.left[i])
            if only[i] < 0:
                if above(highest, ranked.values[i, -1]):
                    gather_best(row, low, ranked.values[i], ranked.words[i])
                if banked and bound.missing[bound.states[i]] > 0:
                    targets = bound.after[bound.states[i], low : low + wide]
                    _keep_nearer(row, targets, bound.missing, bound.missing[bound.states[i]])
                    gather_best(row, low, nearer.values[i], nearer.words[i])
            elif low <= only[i] < low + wide:
                insert(row[only[i] - low], only[i], ranked.values[i], ranked.words[i])
    for i in range(count):
        ranked.normalizers[i] = ranked.highest[i] + np.log(ranked.normalizers[i])
