"""Networks: expressions as states and arcs, some of which call the network of a rule, and the automaton that walks
them.

A state of the automaton is a set of places in networks, each with the places to return to. A call at the end of a rule
returns to nothing new, so that lists of any length need no depth.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from regard.errors import RegardError
from regard.nn.constraints.constraint import Automaton
from regard.nn.constraints.expressions import (
    Alternatives,
    CharacterSet,
    Expression,
    InOrder,
    Repetition,
    RuleCall,
)

Place = tuple[int, tuple[int, ...]]
"""A state of a network, and the states to return to, the next one last."""
Places = frozenset[Place]
MOST = 10_000
"""The largest number of states of a network."""


@dataclass
class RuleNetwork:
    """States of all rules, by number.

    arcs    the characters that lead from a state to another
    free    the states that are reached without a character
    calls   the rules that may be called, and the states after them
    rules   the first and the last state of each rule
    """

    arcs: list[list[tuple[CharacterSet, int]]] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    calls: list[list[tuple[str, int]]] = field(default_factory=list)
    rules: dict[str, tuple[int, int]] = field(default_factory=dict)

    def state(self) -> int:
        if len(self.arcs) >= MOST:
            raise RegardError(
                f"the expression needs more than {MOST:,} places.",
                where="constraint",
                fix="Repeat less: a{100}{100} is a thousand times as large as a{10}.",
            )
        self.arcs.append([])
        self.free.append([])
        self.calls.append([])
        return len(self.arcs) - 1

    def add(self, name: str, expression: Expression) -> None:
        first, last = self.state(), self.state()
        self.rules[name] = first, last
        self._lay(expression, first, last)

    def _lay(self, one: Expression, first: int, last: int) -> None:
        if isinstance(one, CharacterSet):
            self.arcs[first].append((one, last))
        elif isinstance(one, RuleCall):
            self.calls[first].append((one.name, last))
        elif isinstance(one, Alternatives):
            for part in one.parts:
                self._lay(part, first, last)
        elif isinstance(one, InOrder):
            here = first
            for number, part in enumerate(one.parts, 1):
                after = last if number == len(one.parts) else self.state()
                self._lay(part, here, after)
                here = after
            if not one.parts:
                self.free[first].append(last)
        else:
            self._lay_repeated(one, first, last)

    def _lay_repeated(self, one: Repetition, first: int, last: int) -> None:
        here = first
        for _ in range(one.least):
            after = self.state()
            self._lay(one.part, here, after)
            here = after
        if one.most is None:
            loop, after = self.state(), self.state()
            self.free[here].append(loop)
            self.free[loop].append(last)
            self._lay(one.part, loop, after)
            self.free[after].append(loop)
            return
        for _ in range(one.most - one.least):
            after = self.state()
            self.free[here].append(last)
            self._lay(one.part, here, after)
            here = after
        self.free[here].append(last)

    def silent(self, state: int) -> set[int]:
        """The states that are reached from a state without a character, calls left out."""
        found, left = {state}, [state]
        while left:
            for after in self.free[left.pop()]:
                if after not in found:
                    found.add(after)
                    left.append(after)
        return found


class NetworkAutomaton(Automaton):
    """Accepts the texts of the first rule of a network.

    depth   the largest number of places to return to: how deeply rules are nested in each other
    where   the place to name in messages
    """

    def __init__(self, network: RuleNetwork, start: str, *, depth: int, where: str) -> None:
        self.network, self.depth, self.where = network, depth, where
        self.lasts = {last for _, last in network.rules.values()}
        silent = [network.silent(state) for state in range(len(network.arcs))]
        # a state from which nothing but the end of its rule is reached needs no return
        self.ending = [
            bool(reached & self.lasts) and not any(network.arcs[one] or network.calls[one] for one in reached)
            for reached in silent
        ]
        self.start = self._closed([(network.rules[start][0], ())])
        self._sets = list(dict.fromkeys(one for arcs in network.arcs for one, _ in arcs))

    def step(self, state: Places, character: str) -> Hashable | None:
        after = [
            (target, returns)
            for place, returns in state
            for characters, target in self.network.arcs[place]
            if character in characters
        ]
        return self._closed(after) or None

    def accepts(self, state: Places) -> bool:
        return any(place in self.lasts and not returns for place, returns in state)

    def classes(self, characters: Sequence[str]) -> list[Hashable]:
        return [tuple(one in among for among in self._sets) for one in characters]

    def _closed(self, places: Sequence[Place]) -> Places:
        """All places that are reached without a character, of which those count at which something happens."""
        network = self.network
        found, left = set(places), list(places)
        while left:
            place, returns = left.pop()
            after: list[Place] = [(one, returns) for one in network.free[place]]
            if place in self.lasts and returns:
                after.append((returns[-1], returns[:-1]))
            for name, target in network.calls[place]:
                kept = returns if self.ending[target] else (*returns, target)
                if len(kept) <= self.depth:
                    after.append((network.rules[name][0], kept))
            new = [one for one in after if one not in found]
            found.update(new)
            left += new
        return frozenset(
            (place, returns)
            for place, returns in found
            if network.arcs[place] or (place in self.lasts and not returns)
        )


def check_rules(rules: Mapping[str, Expression], where: str) -> None:
    """Refuse rules that call themselves before they write anything."""
    empty = _may_be_empty(rules)
    first: dict[str, set[str]] = {name: _first(one, empty) for name, one in rules.items()}
    for name in rules:
        seen, left = set[str](), [name]
        while left:
            for other in first[left.pop()]:
                if other == name:
                    raise RegardError(
                        f"the rule {name!r} begins with itself.",
                        where=where,
                        fix='Write a list with a star:  sum: term ("+" term)*',
                    )
                if other not in seen:
                    seen.add(other)
                    left.append(other)


def called(one: Expression) -> set[str]:
    """The names of all rules that an expression calls."""
    if isinstance(one, RuleCall):
        return {one.name}
    parts = (one.part,) if isinstance(one, Repetition) else getattr(one, "parts", ())
    return set[str]().union(*(called(part) for part in parts))


def _may_be_empty(rules: Mapping[str, Expression]) -> set[str]:
    """The rules that may write nothing."""
    found = set[str]()
    while True:
        new = {name for name, one in rules.items() if name not in found and _nothing(one, found)}
        if not new:
            return found
        found |= new


def _nothing(one: Expression, empty: set[str]) -> bool:
    if isinstance(one, RuleCall):
        return one.name in empty
    if isinstance(one, Repetition):
        return one.least == 0 or _nothing(one.part, empty)
    if isinstance(one, Alternatives):
        return any(_nothing(part, empty) for part in one.parts)
    return isinstance(one, InOrder) and all(_nothing(part, empty) for part in one.parts)


def _first(one: Expression, empty: set[str]) -> set[str]:
    """The rules that an expression may call before it writes anything."""
    if isinstance(one, RuleCall):
        return {one.name}
    if isinstance(one, Repetition):
        return _first(one.part, empty) if one.most != 0 else set()
    found = set[str]()
    if isinstance(one, Alternatives):
        return found.union(*(_first(part, empty) for part in one.parts))
    for part in getattr(one, "parts", ()):
        found |= _first(part, empty)
        if not _nothing(part, empty):
            break
    return found
