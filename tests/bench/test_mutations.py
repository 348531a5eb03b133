"""Broken subjects: a sound check of the lectures fails with each of some mutations, an empty one is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from regard.course.lectures import entry
from regard.course.lectures.checks import PythonCheck


@pytest.fixture(scope="module")
def bench(of_bench: Callable[[str], Any]) -> Any:
    return of_bench("mutating"), of_bench("mutations")


@pytest.mark.parametrize("name", ["000.33", "000.42", "000.60", "002.25", "003.40"])
def test_checks_fail_when_their_subject_is_broken(name: str, bench: Any) -> None:
    _, mutations = bench
    for check in (one for one in entry(name).checks if isinstance(one, PythonCheck)):
        found = mutations.mutated(name, check, "check", seconds=0.01)
        assert found.holds and found.count("killed") >= 2, found.found


@pytest.mark.parametrize(
    "code",
    [
        # invariant under another order: uniform attention is so too
        "q, h = random(4), random(3, 4, seed=1)\n"
        "apart(np.array(attend(q, h)[0])[[2, 0, 1]], attend(q, h[[2, 0, 1]])[0])",
        # a gradient beside differences of the same function, whatever it computes
        "t = torch.tensor(random(3), requires_grad=True)\n"
        "(Categorical(t).marginals[0]).backward()\n"
        "apart(t.grad, numeric(lambda t: float(Categorical(torch.tensor(t)).marginals[0]), random(3))[0])",
    ],
)
def test_empty_checks_are_found_out(code: str, bench: Any) -> None:
    _, mutations = bench
    check = PythonCheck(python=code, expected=0, within=1e-8)
    assert mutations.outcome(check) == "passed"
    assert not mutations.mutated("000.1", check, "check", seconds=0.01).holds


def test_everything_is_whole_again(bench: Any) -> None:
    mutating, mutations = bench
    check = next(one for one in entry("002.25").checks if isinstance(one, PythonCheck))
    site = mutating.Site("regard.structures.chain", "LinearChain.value_of", 0)
    with mutating.broken(site, "permuted") as count:
        assert mutations.outcome(check) == "failed" and count["changed"] > 0
    assert mutations.outcome(check) == "passed"
