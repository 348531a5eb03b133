"""Finished sources leave a search, and the answers do not change."""

from __future__ import annotations

import pytest
import torch

from regard.data.batch import END
from regard.nn.search import Beam, Ensemble, Greedy, Limits, Sample, Stepper, hypotheses, score

from .conftest import model, tokens
from .pointing import memory, stepper

ROWS = [[4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4], [5], [7, 7, 7, 9, 10, 4, 4], [8, 5, 6], [6, 6], [10]]
PREFIX = tokens([4], [], [5, 6, 7], [], [8, 9, 4, 4, 5, 6], [9], [10, 4], [])
SEARCHES = {
    "greedy": Greedy(),
    "beam": Beam(size=3, best=3),
    "sampling": Sample(samples=3, seed=2, keys=range(8)),
    "greedy with a prefix": Greedy(Limits(prefix=PREFIX, maximum=9)),
    "beam with a prefix": Beam(size=2, limits=Limits(prefix=PREFIX, maximum=9)),
}
KINDS = {
    "fused": {},
    "current": {"state": "current"},
    "every step": {"condition": ("start", "every-step", "attention")},
    "lstm": {"cell": "lstm"},
    "location": {"score": "location"},
    "no attention": {"condition": ("start",)},
}
NEVER, ALWAYS = 2.0, 0.0
FIELDS = ("tokens", "lengths", "scores", "token_scores", "attention")


def stepper_of(rows=ROWS, *, ending=0.0, **options):
    """`ending`: added to the logit of END."""
    encoder, decoder = model(seed=5, **options)
    with torch.no_grad():
        decoder.output.bias[END] += ending
    return Stepper(decoder.eval(), {"source": encoder.eval()(tokens(*rows))})


@pytest.fixture
def searched(monkeypatch):
    """Search with sources that leave at a given share of finished ones; count how often they did."""

    def run(search, found, share):
        times, selected = [], Stepper.select

        def counted(self, rows):
            times.append(len(rows))
            return selected(self, rows)

        with monkeypatch.context() as patch:
            patch.setattr(hypotheses, "SHARE", share)
            patch.setattr(Stepper, "select", counted)
            return search(found), times

    return run


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEARCHES)
def test_the_answers_stay_the_same(name, kind, searched):
    exact = kind in ("fused", "current", "every step")  # for fewer rows, torch's products round differently
    ending = 20.0 if "prefix" in name else 1.0  # with a prefix, outputs end where the prefix does
    stayed, never = searched(SEARCHES[name], stepper_of(ending=ending, **KINDS[kind]), NEVER)
    assert not never
    for share in (ALWAYS, hypotheses.SHARE):
        left, times = searched(SEARCHES[name], stepper_of(ending=ending, **KINDS[kind]), share)
        assert times == sorted(times, reverse=True)
        assert times or "prefix" not in name
        for field in FIELDS[:2]:
            assert torch.equal(getattr(left, field), getattr(stayed, field))
        tolerance = {"atol": 0, "rtol": 0} if exact else {"atol": 1e-6, "rtol": 1e-5}
        for field in FIELDS[2:]:
            torch.testing.assert_close(getattr(left, field), getattr(stayed, field), **tolerance)


@pytest.mark.parametrize("name", ["greedy", "beam"])
def test_any_batch_gives_the_same_bits(name):
    together = SEARCHES[name](stepper_of())
    order = [6, 2, 0, 7, 4]
    others = SEARCHES[name](stepper_of([ROWS[row] for row in order]))
    for place, row in enumerate(order):
        for rank in range(together.tokens.shape[1]):
            length = int(together.lengths[row, rank])
            assert others.content(place, rank) == together.content(row, rank)
            assert torch.equal(
                others.token_scores[place, rank, :length], together.token_scores[row, rank, :length]
            )


def test_scoring_leaves_too(searched):
    found = stepper_of()
    targets = tokens([4, 5], [], [6] * 9, [7], [8, 9, 10], [4], [5, 5], [10])
    stayed, _ = searched(lambda at: score(at, targets), found, NEVER)
    left, times = searched(lambda at: score(at, targets), found, ALWAYS)
    assert times
    for field in FIELDS:
        torch.testing.assert_close(getattr(left, field), getattr(stayed, field), atol=0, rtol=0)


@pytest.mark.parametrize("name", ["greedy", "beam"])
def test_ensembles_and_pointers_leave_too(name, searched):
    for make in (
        lambda: Ensemble([stepper_of(), stepper_of(state="current")]),
        lambda: stepper(memory((3, 1, 4, 2, 1, 5, 2, 1))),
    ):
        stayed, _ = searched(SEARCHES[name], make(), NEVER)
        left, times = searched(SEARCHES[name], make(), ALWAYS)
        assert times
        for field in FIELDS:
            torch.testing.assert_close(getattr(left, field), getattr(stayed, field), atol=1e-6, rtol=1e-5)
