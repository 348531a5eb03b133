"""The lab `turing` against a machine with a dictionary as its tape, published numbers, and the equation in NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest

from regard.course.lab import run
from regard.errors import RegardError

BUSY = {
    "1RB1LB_1LA1RH": (6, 4),
    "1RB1RH_0RC1RB_1LC1LA": (14, 6),
    "1RB1RH_1LB0RC_1LC1LA": (21, 5),
    "1RB1LB_1LA0LC_1RH1LD_1RD0RA": (107, 13),
}
"""Machines of Radó, Lin and Brady: how many steps they take, and how many ones they leave."""


def simulated(rules: str, tape: tuple[int, ...], steps: int) -> list[tuple[str, int, list[int]]]:
    """State, place of the head and places of the ones before each step and at the end."""
    cells, state, head = dict(enumerate(tape)), "A", 0
    found = []
    for _ in range(steps + 1):
        found.append((state, head, sorted(place for place, symbol in cells.items() if symbol)))
        if state == "H":
            break
        symbol = cells.get(head, 0)
        write, move, state = tuple(rules.split("_")[ord(state) - ord("A")][3 * symbol : 3 * symbol + 3])
        cells[head] = int(write)
        head += {"R": 1, "L": -1}[move]
    return found


def by_network(rules: str, tape: tuple[int, ...] = (), steps: int = 200) -> list[tuple[str, int, list[int]]]:
    found = run("turing", rules=rules, tape=tape, steps=steps).numbers
    return list(zip(found["states"], found["heads"], found["tapes"], strict=True))


@pytest.mark.parametrize("rules", BUSY)
def test_busy_beavers_take_the_published_number_of_steps(rules: str) -> None:
    found = run("turing", rules=rules).numbers
    assert found["halted"] and (found["steps"], found["ones"]) == BUSY[rules]
    assert by_network(rules) == simulated(rules, (), 200)


def test_random_machines_on_random_tapes_step_by_step() -> None:
    drawn = random.Random(0)
    longest = 0
    for _ in range(40):
        states = "ABCD"[: drawn.randint(1, 4)]
        rule = lambda: drawn.choice("01") + drawn.choice("LR") + drawn.choice(states * 3 + "H")  # noqa: B023, E731
        rules = "_".join(rule() + rule() for _ in states)
        tape = tuple(drawn.choices((0, 1), k=drawn.randint(0, 8)))
        truth = simulated(rules, tape, 40)
        assert by_network(rules, tape, 40) == truth
        longest = max(longest, len(truth))
    assert longest == 41


def test_a_machine_that_adds() -> None:
    """Three and two in strokes, with a 0 between them."""
    found = run("turing", rules="1RB1RA_0LC1RB_0RH0LH", tape=[1, 1, 1, 0, 1, 1]).numbers
    assert found["tapes"][-1] == [0, 1, 2, 3, 4]


def test_the_equation_alone_runs_the_machine() -> None:
    """h ← clip(W h + b) in NumPy from the start on; what has halted stays."""
    found = run("turing", rules="1RB1LB_1LA0LC_1RH1LD_1RD0RA").numbers
    W, b, names = found["W"], found["b"], list(found["units"])
    h = np.eye(len(names))[names.index("A0")]
    for step in range(2 * 107):
        assert h[[names.index("H0"), names.index("H1")]].sum() == 0, step
        h = np.clip(W @ h + b, 0, 1)
    for _ in range(5):
        # 1▸0 1 1 1 1 1 1 1 1 1 1 1 1: one 1 on the left, twelve on the right
        assert h[names.index("H0")] == 1 and h[names.index("L")] == 1 / 2
        assert h[names.index("R")] == sum(2 / 4**place for place in range(1, 13))
        h = np.clip(W @ np.clip(W @ h + b, 0, 1) + b, 0, 1)


def test_a_machine_that_does_not_halt_is_cut_off() -> None:
    found = run("turing", rules="1RA1RA", steps=30)
    assert not found.numbers["halted"] and found.numbers["steps"] == 30
    assert "has not halted after 30 steps" in found.see


@pytest.mark.parametrize("rules", ["1RB1LB", "1RA2LA", "1RB1LB_1LA1R", "1RA1LA_", "1rA1LA_1LA1RH"])
def test_what_is_no_machine_is_refused(rules: str) -> None:
    with pytest.raises(RegardError, match="no machine of states"):
        run("turing", rules=rules)
