"""The automata of constraints, walked along all units of a vocabulary at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from regard.data.columns.writing import UnitWriting
from regard.nn.constraints.constraint import Automaton

Array = Any
UNSEEN, DEAD = -2, -1


class Numbered:
    """An automaton with its states as numbers, which are given as they are met.

    table   (states, classes of characters) the next state; UNSEEN: not asked yet; DEAD: none
    """

    def __init__(self, automaton: Automaton, characters: Sequence[str]) -> None:
        self.automaton = automaton
        numbers: dict[Hashable, int] = {}
        found = [numbers.setdefault(one, len(numbers)) for one in automaton.classes(characters)]
        self.classes = np.array(found, dtype=np.int64)
        self.examples = [characters[found.index(number)] for number in range(len(numbers))]
        self.states: list[Hashable] = []
        self.numbers: dict[Hashable, int] = {}
        self.accepting: list[bool] = []
        self.table = np.full((16, max(1, len(numbers))), UNSEEN, dtype=np.int32)
        self.number(automaton.start)

    def number(self, state: Hashable) -> int:
        found = self.numbers.setdefault(state, len(self.states))
        if found == len(self.states):
            self.states.append(state)
            self.accepting.append(self.automaton.accepts(state))
            if found == len(self.table):
                self.table = np.concatenate([self.table, np.full_like(self.table, UNSEEN)])
        return found

    def follow(self, states: Array, characters: Array) -> Array:
        """The states after a character each; DEAD where there is none."""
        classes = self.classes[characters]
        after = self.table[states, classes]
        if (after == UNSEEN).any():
            new = np.unique(np.stack([states, classes], 1)[after == UNSEEN], axis=0)
            for state, one in new.tolist():
                reached = self.automaton.step(self.states[state], self.examples[one])
                # `number` may replace the table
                number = DEAD if reached is None else self.number(reached)
                self.table[state, one] = number
            after = self.table[states, classes]
        return after


class WrittenUnits:
    """The characters of the units of a vocabulary, by mode, as arrays.

    lengths   (modes, units) number of characters, −1 for a unit that cannot follow
    letters   (modes, units, longest) numbers of the characters
    order     (modes, units) units sorted by their first character; `starts` (modes, characters + 1) where each begins
    """

    def __init__(self, writing: UnitWriting) -> None:
        self.following = writing.following
        texts = writing.texts
        self.characters = sorted({one for mode in texts for text in mode for one in text or ""}) or [" "]
        numbers = {one: number for number, one in enumerate(self.characters)}
        self.lengths = np.array([[-1 if text is None else len(text) for text in mode] for mode in texts])
        longest = max(1, int(self.lengths.max(initial=1)))
        self.letters = np.zeros((*self.lengths.shape, longest), dtype=np.int32)
        for mode, row in enumerate(texts):
            for unit, text in enumerate(row):
                if text:
                    self.letters[mode, unit, : len(text)] = [numbers[one] for one in text]
        firsts = np.where(self.lengths > 0, self.letters[..., 0], len(self.characters))
        self.order = np.argsort(firsts, axis=1, kind="stable")
        counted = range(len(self.characters) + 1)
        self.starts = np.stack(
            [np.searchsorted(row[order], counted) for row, order in zip(firsts, self.order, strict=True)]
        )
        self.silent = [np.flatnonzero(row == 0) for row in self.lengths]

    def first_pairs(self, mode: int, alive: Array) -> tuple[Array, Array]:
        """Pairs of states and units, for states (F) and the characters (F, characters) that each may write next."""
        states, characters = alive.nonzero()
        starts, ends = self.starts[mode][characters], self.starts[mode][characters + 1]
        counts = ends - starts
        rows = np.repeat(states, counts)
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, self.order[mode][np.repeat(starts, counts) + offsets]


def walk(
    automata: Sequence[Numbered], units: WrittenUnits, mode: int, states: Array
) -> tuple[Array, Array, Array]:
    """From states (F, automata) that have the same mode: the number of the state in F, the unit, and the states
    (N, automata) after it, for all units that may follow."""
    letters = np.arange(len(units.characters))
    alive = np.ones((len(states), len(letters)), dtype=bool)
    for one, column in zip(automata, states.T, strict=True):
        after = one.follow(np.repeat(column, len(letters)), np.tile(letters, len(column)))
        alive &= (after != DEAD).reshape(alive.shape)
    rows, tokens = units.first_pairs(mode, alive)
    reached = states[rows]
    texts, lengths = units.letters[mode], units.lengths[mode]
    for place in range(texts.shape[1]):
        longer = np.flatnonzero(lengths[tokens] > place)
        if not len(longer):
            break
        characters = texts[tokens[longer], place]
        for number, one in enumerate(automata):
            reached[longer, number] = one.follow(reached[longer, number], characters)
        kept = (reached != DEAD).all(1)
        rows, tokens, reached = rows[kept], tokens[kept], reached[kept]
    silent = units.silent[mode]
    rows = np.concatenate([rows, np.repeat(np.arange(len(states)), len(silent))])
    tokens = np.concatenate([tokens, np.tile(silent, len(states))])
    return rows, tokens, np.concatenate([reached, np.repeat(states, len(silent), axis=0)])
