"""A Turing machine run by a recurrent network with fixed weights (Siegelmann and Sontag, 1995).

    h_t = min(max(W h_{t−1} + b, 0), 1)

h_0 holds the tape; nothing else is read, and nothing outside the network decides. The tape left and right of the head
is a stack each, held in one unit as a fraction: the digits of base 4 are 0 for the symbol 0 and 2 for the symbol 1, so
that an unlimited blank tape is 0.

    top(q) = clip(4q − 1)      pop(q) = 4q − 2 top(q)      push(q, s) = q/4 + s/2

At even times one unit of A0, A1, B0, … is 1, the state and the symbol under the head; L and R are the stacks, l and r
their tops. At odd times each rule i has its own new stacks and next symbol, which are 0 unless unit i was 1. For a
rule that writes s and moves right, and for the units of the next even time:

    L_i = clip(L/4 + s/2 + i − 1)      R_i = clip(4R − 2r + i − 1)      i1 = clip(i + r − 1)      i0 = clip(i − r)
    L = clip(Σ_i L_i)      l = clip(4 Σ_i L_i − 1)      B1 = clip(Σ i1 of the rules i that lead to B)

One step of the machine is two steps of the network, whatever is on the tape. The fractions are exact here; float64
holds some 26 symbols of each stack. W is made from the rules: each machine has its network, also a universal one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.errors import RegardError
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import color_scale
from regard.parts import register
from regard.trace import Array

HALT = "H"
SHOWN = 22
"""Steps that are printed and drawn; of a longer run, the first and last half of them."""


class MachineRule(NamedTuple):
    """What a machine does in a state with a symbol under the head; no move is a halt."""

    write: int
    move: str
    following: str


Rules = Mapping[tuple[str, int], MachineRule]


@register("lab", "turing")
class TuringLab(Lab):
    """A Turing machine inside a recurrent network."""

    class Options(Lab.Options):
        """A Turing machine inside a recurrent network."""

        rules: Annotated[str, Field(min_length=6, max_length=180)] = "1RB1RH_1LB0RC_1LC1LA"
        """A machine in the usual notation: its states A, B, … with `_` between them; of each, for the symbols 0 and 1,
        what it writes, L or R, and the state that follows. H halts."""
        tape: Annotated[tuple[Annotated[int, Field(ge=0, le=1)], ...], Field(max_length=64)] = ()
        """The symbols on the tape; the head begins at the first. All others are 0."""
        steps: Annotated[int, Field(ge=1, le=2000)] = 200
        """The most steps of the machine."""

    summary = "a Turing machine run by h = min(max(W h + b, 0), 1), a recurrent network with fixed weights"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        rules = rules_of(options.rules)
        network = network_of(rules)
        tapes = tapes_of(rules, network.run(options.tape, options.steps))
        halted, ones = tapes[-1].state == HALT, len(tapes[-1].ones)
        shown = _some(len(tapes))
        ends = _ends([tapes[step] for step in shown])
        end = (
            f"halts after {len(tapes) - 1} steps"
            if halted
            else f"has not halted after {len(tapes) - 1} steps"
        )
        return LabResult(
            title="A Turing machine inside a recurrent network",
            see=f"The network of {len(network.names)} units takes two steps for each step of the machine. The machine "
            f"{end}, with {written(ones)} {'one' if ones == 1 else 'ones'} on its tape.",
            blocks=[
                draw_matrix(_tape_matrix([tapes[step] for step in shown], shown)),
                color_scale(name="symbol", truth=True, outlined="the head"),
            ],
            table=(
                ("step", "state", "tape", "L", "R"),
                [
                    (step, tapes[step].state, _line(tapes[step], *ends), *map(str, tapes[step].stacks))
                    for step in shown
                ],
            ),
            numbers={
                "units": network.names,
                "W": network.weights,
                "b": network.bias,
                "steps": len(tapes) - 1,
                "halted": halted,
                "ones": ones,
                "states": [one.state for one in tapes],
                "heads": [one.head for one in tapes],
                "tapes": [sorted(one.ones) for one in tapes],
            },
            worked=_worked(network),
        )


def rules_of(text: str) -> Rules:
    """The rules of a machine by state and symbol."""
    parts = text.split("_")
    states = "ABCDEFG"[: len(parts)]
    if len(parts) > len(states) or not all(
        re.fullmatch(f"([01][LR][{states}{HALT}]){{2}}", one) for one in parts
    ):
        raise RegardError(
            f"{text!r} is no machine of states A to G, with two rules of three letters for each.",
            where="--set rules",
            fix="Write as in 1RB1LB_1LA1RH: in state A with 0 under the head write 1, move right, go to B.",
        )
    return {
        (state, symbol): MachineRule(int(part[3 * symbol]), part[3 * symbol + 1], part[3 * symbol + 2])
        for state, part in zip(states, parts, strict=True)
        for symbol in (0, 1)
    }


@dataclass(frozen=True)
class MachineNetwork:
    """h = clip(W h + b): names of the units, (N, N) and (N,)."""

    names: tuple[str, ...]
    weights: Array
    bias: Array

    def run(self, tape: Sequence[int], steps: int) -> Iterator[dict[str, Fraction]]:
        """The units at even times, until a halting state has been reached or so many steps are over."""
        symbols = list(tape) or [0]
        right = sum((Fraction(2 * one, 4**place) for place, one in enumerate(symbols[1:], 1)), Fraction(0))
        h = dict.fromkeys(self.names, Fraction(0))
        h |= {f"A{symbols[0]}": Fraction(1), "R": right, "r": Fraction(right >= Fraction(1, 2))}
        yield h
        for _ in range(steps):
            if h[f"{HALT}0"] + h[f"{HALT}1"] == 1:
                return
            h = self.step(self.step(h))
            yield h

    def step(self, h: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """One step of the network, without rounding."""
        found = {}
        for name, row, bias in zip(self.names, self.weights, self.bias, strict=True):
            terms = (Fraction(float(row[k])) * h[self.names[k]] for k in np.flatnonzero(row))
            found[name] = min(max(sum(terms, Fraction(float(bias))), Fraction(0)), Fraction(1))
        return found


def network_of(rules: Rules) -> MachineNetwork:
    """The weights that run a machine."""
    states = [*dict.fromkeys(state for state, _ in rules), HALT]
    pairs = [(state, symbol) for state in states for symbol in (0, 1)]
    rows: dict[str, tuple[dict[str, float], float]] = {}  # unit: its weights, its bias
    for state, symbol in pairs:
        unit, rule = f"{state}{symbol}", rules.get((state, symbol))
        left, right = _stacks(rule)
        rows[f"L_{unit}"] = {**left[0], unit: 1}, left[1] - 1
        rows[f"R_{unit}"] = {**right[0], unit: 1}, right[1] - 1
        if rule is None:  # a machine that has halted stays as it is
            rows[f"{unit}→{symbol}"] = {unit: 1}, 0
            continue
        top = "r" if rule.move == "R" else "l"
        rows[f"{unit}→1"] = {unit: 1, top: 1}, -1
        rows[f"{unit}→0"] = {unit: 1, top: -1}, 0
    for state, symbol in pairs:
        before = [one for one in pairs if (rules[one].following if one in rules else one[0]) == state]
        leading = (f"{one}{seen}→{symbol}" for one, seen in before)
        rows[f"{state}{symbol}"] = {name: 1 for name in leading if name in rows}, 0
    for stack in "LR":
        rows[stack] = {f"{stack}_{state}{symbol}": 1 for state, symbol in pairs}, 0
        rows[stack.lower()] = {f"{stack}_{state}{symbol}": 4 for state, symbol in pairs}, -1
    names = tuple(sorted(rows, key=lambda name: "_" in name or "→" in name))
    weights = np.array([[rows[name][0].get(other, 0.0) for other in names] for name in names])
    return MachineNetwork(names, weights, np.array([float(rows[name][1]) for name in names]))


def _stacks(
    rule: MachineRule | None,
) -> tuple[tuple[dict[str, float], float], tuple[dict[str, float], float]]:
    """The weights and the bias of the new stacks L and R; a halt leaves them as they are."""
    if rule is None:
        return ({"L": 1}, 0), ({"R": 1}, 0)
    if rule.move == "R":
        return ({"L": 1 / 4}, rule.write / 2), ({"R": 4, "r": -2}, 0)
    return ({"L": 4, "l": -2}, 0), ({"R": 1 / 4}, rule.write / 2)


@dataclass(frozen=True)
class MachineTape:
    """What the units stand for at an even time: the ones of the tape, by place, and where the head is."""

    state: str
    head: int
    ones: frozenset[int]
    stacks: tuple[Fraction, Fraction]


def tapes_of(rules: Rules, times: Iterable[Mapping[str, Fraction]]) -> list[MachineTape]:
    """The tapes that the units stand for; the head begins at 0."""
    found: list[MachineTape] = []
    head = 0
    for h in times:
        (unit,) = (name for name, value in h.items() if len(name) == 2 and value == 1)
        ones = {head} if unit[1] == "1" else set()
        ones |= {head - place for place, one in enumerate(_digits(h["L"]), 1) if one}
        ones |= {head + place for place, one in enumerate(_digits(h["R"]), 1) if one}
        found.append(MachineTape(unit[0], head, frozenset(ones), (h["L"], h["R"])))
        rule = rules.get((unit[0], int(unit[1])))
        head += 0 if rule is None else 1 if rule.move == "R" else -1
    return found


def _digits(stack: Fraction) -> Iterator[int]:
    """The symbols of a stack from its top."""
    while stack:
        stack *= 4
        digit = int(stack)
        stack -= digit
        yield digit // 2


def _some(count: int) -> list[int]:
    """The steps to show."""
    half = SHOWN // 2
    return list(range(count)) if count <= SHOWN else [*range(half), *range(count - half, count)]


def _line(tape: MachineTape, low: int, high: int) -> str:
    """The tape from `low` to `high`; the head is at the sign."""
    cells = (
        ("▸" if place == tape.head else " ") + str(int(place in tape.ones)) for place in range(low, high + 1)
    )
    return "".join(cells)


def _ends(tapes: Sequence[MachineTape]) -> tuple[int, int]:
    """The first and the last place with a one or the head."""
    places = {place for one in tapes for place in (one.head, *one.ones)}
    return min(places), max(places)


def _tape_matrix(tapes: Sequence[MachineTape], steps: Sequence[int]) -> Matrix:
    low, high = _ends(tapes)
    places = range(low, high + 1)
    return Matrix(
        tuple(f"{step} {one.state}" for step, one in zip(steps, tapes, strict=True)),
        tuple(map(str, places)),
        np.array([[float(place in one.ones) for place in places] for one in tapes]),
        truth=np.array([[float(place == one.head) for place in places] for one in tapes]),
        title="The tape that the units hold",
        outlined="the head",
        row_name="step and state",
        column_name="place",
        digits="{:.0f}",
    )


def _worked(network: MachineNetwork) -> list[str]:
    """The equation of each unit."""
    lines = ["h ← clip(W h + b), all units at once:"]
    for name, row, bias in zip(network.names, network.weights, network.bias, strict=True):
        terms = [(float(row[k]), network.names[k]) for k in np.flatnonzero(row)]
        lines.append(f"  {name} ← clip({_sum(terms, float(bias))})")
    return lines


def _sum(terms: Sequence[tuple[float, str]], bias: float) -> str:
    """2 x − y + 0.5."""
    found = [(weight, name if abs(weight) == 1 else f"{abs(weight):g} {name}") for weight, name in terms]
    found += [(bias, f"{abs(bias):g}")] if bias or not terms else []
    text = "".join(f" {'+' if weight >= 0 else '−'} {term}" for weight, term in found)
    return text.removeprefix(" + ")
