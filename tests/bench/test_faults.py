"""Faults in every model: a check that compares with a hand computation notices them, an empty one does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from regard.course.lectures import entry
from regard.course.lectures.checks import PythonCheck
from regard.nn import attention


@pytest.fixture(scope="module")
def faults(of_bench: Callable[[str], Any]) -> Any:
    return of_bench("faults")


def test_an_attention_computed_by_hand_notices_each_fault_of_it(faults: Any) -> None:
    read, look = attention._read, attention.Attention.look
    checks = [one for one in entry("002.21").checks if isinstance(one, PythonCheck)]
    faulty = (
        "attention severed",
        "attention uniform",
        "score negated",
        "question ignored",
        "nothing fed back",
    )
    for fault in faulty:
        found = [faults.told(check, faults.faults()[fault]) for check in checks]
        assert "failed" in found, fault
    assert attention._read is read and attention.Attention.look is look


def test_an_empty_check_survives_and_one_that_computes_without_the_part_is_left_out(faults: Any) -> None:
    severed = faults.faults()["attention severed"]
    empty = PythonCheck(python="len(attend(random(4), random(3, 4))[0])", expected=3, within=0)
    other = PythonCheck(python="1 + 1", expected=2, within=0)
    assert faults.told(empty, severed) == "passed"
    assert faults.told(other, severed) == ""
