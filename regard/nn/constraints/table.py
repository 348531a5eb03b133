"""The table of a constraint: from each state, the state that each unit of the vocabulary leads to.

A state is one of the product of all automata of a constraint, with the mode of the writing and the number of units so
far, if a least number is asked for. Only states that some output reaches are made. For each there is the least number
of further units after which an output may end; a search that allows no unit that leads too far away always ends well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.columns.writing import UnitWriting
from regard.errors import RegardError
from regard.nn.constraints.constraint import Automaton
from regard.nn.constraints.walking import Numbered, WrittenUnits, walk

Array = Any
FAR = 2**30
"""WrittenUnits to an end that cannot be reached."""
MOST_STATES = 2**17
LARGEST = 2**25
"""Entries of a table that is kept in full, states times units."""
PAIRS = 2**21
"""States times units that are followed at a time."""


@dataclass(frozen=True)
class ConstraintTable:
    """Q states, of which the first is the start, then the state after END, then that of outputs that cannot end.

    after      (Q + 2, V) int32 the next states; None if it is too large, then by `pairs`
    pairs      the same, as (starts (Q + 3), units, states) of the units that lead anywhere
    needed     (Q + 2) int32 the least number of units after which an output may end; −1 after END, FAR if none
    missing    (Q + 2) int32 the units that banked automata still need; None if no automaton is banked
    size       number of units, of which the last `copied` are words that are copied only
    by_row     (B, Q + 2) as `needed`, if not every row can write every unit
    """

    after: Tensor | None
    pairs: tuple[Tensor, Tensor, Tensor] | None
    needed: Tensor
    missing: Tensor | None
    size: int
    copied: int = 0
    by_row: Tensor | None = None
    host: ConstraintTable | None = field(default=None, repr=False, compare=False)

    def to(self, device: torch.device) -> ConstraintTable:
        def moved(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor.to(device)

        if device.type == self.needed.device.type:
            return self
        pairs = self.pairs
        if pairs is not None:
            pairs = (pairs[0].to(device), pairs[1].to(device), pairs[2].to(device))
        return replace(
            self,
            host=self.on_host(),
            after=moved(self.after),
            pairs=pairs,
            needed=self.needed.to(device),
            missing=moved(self.missing),
            by_row=moved(self.by_row),
        )

    def on_host(self) -> ConstraintTable:
        """The table on the CPU, from which this one came."""
        return self if self.host is None else self.host

    def rows(self, states: Tensor) -> Tensor:
        """(…) → (…, V) the next states."""
        if self.after is not None:
            return self.after[states]
        assert self.pairs is not None
        starts, units, targets = self.pairs
        flat = states.reshape(-1)
        counts = starts[flat + 1] - starts[flat]
        rows = torch.repeat_interleave(torch.arange(len(flat), device=flat.device), counts)
        offsets = torch.arange(len(rows), device=flat.device) - (counts.cumsum(0) - counts)[rows]
        place = starts[flat][rows] + offsets
        found = torch.full(
            (len(flat), self.size), len(self.needed) - 1, dtype=torch.int32, device=flat.device
        )
        found[rows, units[place]] = targets[place]
        return found.view(*states.shape, self.size)

    def follow(self, states: Tensor, units: Tensor) -> Tensor:
        """(…) and (…) → (…) int64 the states after a unit each."""
        if self.after is not None:
            return self.after[states, units].long()
        return self.rows(states).gather(-1, units.unsqueeze(-1)).squeeze(-1).long()


@dataclass(frozen=True)
class Explored:
    """The states that outputs reach, and the arcs between them.

    states   (numbers of the automata's states, the mode, the number of units up to the least) → number
    arcs     (N) sources, units, targets
    ends     (Q) whether an output may end there
    needed   (Q) the least number of units to an end
    """

    automata: Sequence[Numbered]
    states: dict[tuple[int, ...], int]
    arcs: tuple[Array, Array, Array]
    ends: Array
    needed: Array


def explore(automata: Sequence[Automaton], units: WrittenUnits, steps: int, minimum: int = 0) -> Explored:
    """All states that outputs of at most `steps` units reach."""
    numbered = [Numbered(one, units.characters) for one in automata]
    columns = len(numbered)
    first = (*[0] * columns, 0, 0)
    states, frontier = {first: 0}, [first]
    arcs: list[tuple[Array, Array, Array]] = []
    most = max(1, PAIRS // max(1, units.lengths.shape[1]))
    for _ in range(steps):
        new: list[tuple[int, ...]] = []
        alike: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for one in frontier:
            alike.setdefault(one[columns:], []).append(one)
        for (mode, count), together in alike.items():
            for low in range(0, len(together), most):
                some = together[low : low + most]
                here = np.array([one[:columns] for one in some], dtype=np.int64).reshape(len(some), columns)
                rows, tokens, reached = walk(numbered, units, mode, here)
                modes = units.following[mode][tokens]
                distinct, numbers = _distinct(np.concatenate([reached, modes[:, None]], 1))
                place = np.empty(len(distinct), dtype=np.int32)
                for number, values in enumerate(distinct.tolist()):
                    state = (*values, min(count + 1, minimum))
                    if state not in states:
                        states[state] = len(states)
                        new.append(state)
                    place[number] = states[state]
                arcs.append(
                    (np.array([states[one] for one in some], dtype=np.int32)[rows], tokens, place[numbers])
                )
        frontier = new
        if len(states) > MOST_STATES:
            raise RegardError(
                f"the constraint has more than {MOST_STATES:,} states.",
                where="constraint",
                fix="Choose a shorter max_length, a lower depth of the grammar, or fewer phrases.",
            )
        if not frontier:
            break
    joined = _joined(arcs)
    accepting = np.array(
        [
            one[-1] >= minimum
            and all(part.accepting[state] for part, state in zip(numbered, one, strict=False))
            for one in states
        ]
    )
    return Explored(numbered, states, joined, accepting, distances(accepting, joined))


def _joined(arcs: Sequence[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    sources, tokens, targets = (np.concatenate([one[part] for one in arcs]) for part in range(3))
    return sources, tokens, targets


def _distinct(rows: Array) -> tuple[Array, Array]:
    """The distinct rows, and the number of the distinct row of each."""
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        _, keys = np.unique(keys * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], numbers


def distances(accepting: Array, arcs: tuple[Array, Array, Array]) -> Array:
    """(Q) the least number of arcs to an accepting state."""
    count = len(accepting)
    pairs = np.unique(arcs[0].astype(np.int64) * count + arcs[2])
    sources, targets = pairs // count, pairs % count
    found = np.where(accepting, 0, FAR).astype(np.int32)
    reached = accepting
    for distance in range(1, count + 1):
        new = np.zeros(count, dtype=bool)
        new[sources[reached[targets]]] = True
        new &= found == FAR
        if not new.any():
            break
        found[new] = distance
        reached = new
    return found


def tabulated(
    automata: Sequence[Automaton],
    banked: Sequence[bool],
    writing: UnitWriting,
    ids: Sequence[int],
    *,
    size: int,
    end: int,
    steps: int,
    minimum: int = 0,
    available: Array | None = None,
    copied: int = 0,
) -> ConstraintTable:
    """The table of some automata, for outputs of at most `steps` units.

    banked    whether each automaton has a bank
    ids       the ids of the written units; all other ids below `size`, except `end`, are never allowed
    minimum   the least number of units of an output
    available (B, units) the written units that each row can write; None: all
    copied    number of units at the end that are copied only
    """
    units = WrittenUnits(writing)
    found = explore(automata, units, steps, minimum)
    count = len(found.states)
    over, nowhere = count, count + 1
    needed = np.concatenate([found.needed, np.array([-1, FAR], dtype=np.int32)])
    ending = np.flatnonzero(needed <= 0).astype(np.int32)  # `over` may write END again, which nobody reads
    sources = np.concatenate([found.arcs[0], ending])
    targets = np.concatenate([found.arcs[2], np.full(len(ending), over, dtype=np.int32)])
    tokens = np.concatenate([np.asarray(ids, dtype=np.int64)[found.arcs[1]], np.full(len(ending), end)])
    missing = _missing(found, automata, banked, units, steps) if any(banked) else None
    by_row = None if available is None else torch.from_numpy(_by_row(found, available))
    rest: dict[str, Any] = {
        "needed": torch.from_numpy(needed),
        "missing": missing,
        "size": size,
        "copied": copied,
        "by_row": by_row,
    }
    if (count + 2) * size <= LARGEST:
        after = np.full((count + 2, size), nowhere, dtype=np.int32)
        after[sources, tokens] = targets
        return ConstraintTable(torch.from_numpy(after), None, **rest)
    order = np.argsort(sources, kind="stable")
    starts = np.searchsorted(sources[order], np.arange(count + 3))
    first, second, third = (torch.from_numpy(one) for one in (starts, tokens[order], targets[order]))
    return ConstraintTable(None, (first, second, third), **rest)


def _by_row(found: Explored, available: Array) -> Array:
    """(B, Q + 2) the least number of units to an end, for rows that have some of the units."""
    rows = []
    for here in available:
        kept = here[found.arcs[1]]
        sources, tokens, targets = (one[kept] for one in found.arcs)
        rows.append([*distances(found.ends, (sources, tokens, targets)), -1, FAR])
    return np.array(rows, dtype=np.int32)


def _missing(
    found: Explored, automata: Sequence[Automaton], banked: Sequence[bool], units: WrittenUnits, steps: int
) -> Tensor:
    """(Q + 2) the units that the banked automata still need, each by itself."""
    total = np.zeros(len(found.states) + 2, dtype=np.int32)
    for number, (automaton, has_bank) in enumerate(zip(automata, banked, strict=True)):
        if not has_bank:
            continue
        alone = explore([automaton], units, steps)
        own = alone.automata[0].states
        known = {(own[state], mode): alone.needed[place] for (state, mode, _), place in alone.states.items()}
        here = found.automata[number].states
        for state, place in found.states.items():
            total[place] += min(int(known.get((here[state[number]], state[-2]), 0)), steps)
    return torch.from_numpy(total)
